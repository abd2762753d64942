"""A web crawler and search engine that lives in many places at once.

Every subnet of the Internet is crawled by the crawler nearest to it on the network.

\b
Examples:
  ipmicra settings              what is set, and where it comes from
  ipmicra COMMAND --help        examples of each command
"""
