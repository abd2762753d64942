"""The tree of the Internet's subnets, from the registries' files.

\b
Examples:
  ipmicra registry fetch                 download the five registries' public files
  ipmicra registry build                 make the tree of what was fetched
  ipmicra registry show 198.51.100.9     the path from the whole Internet down to an address
  ipmicra registry stats                 what is in the tree, and what was skipped
"""
