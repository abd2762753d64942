"""An Internet in a box: real TCP between network namespaces, with latencies and faults of your choosing.

Needs root, /dev/net/tun and iproute2. Nothing of the machine's own network is touched, nothing leaves the
box, and nothing is left behind.

\b
Examples:
  ipmicra lab box world /tmp/world --seed 1          a world of a seed, to look at and to change
  ipmicra lab box run /tmp/world/world.toml --crawler crawler-00 -- ip address
  ipmicra lab box measure                            is what is measured what was asked?
  ipmicra lab box claims                             what can be shown with it
  ipmicra lab box claim crawl-time
"""
