"""Try delegation strategies on latency data, or in a generated world.

\b
Examples:
  ipmicra lab list                            the experiments there are
  ipmicra lab run figure-4                    one of them, in a generated world
  ipmicra lab compare --data anchors-world --registry rir --strategy adaptive,ipmicra@50
"""
