"""A web crawler and search engine that runs in many places at once.

Every subnet of the Internet is crawled by the crawler nearest to it on the network.

\b
Examples:
  ipmicra demo                  the main job at work, in a generated Internet
  ipmicra crawl URL             crawl a site into packages
  ipmicra search WORDS          search what was crawled
  ipmicra registry show NAME    which subnet a site lies in, and whose it is
  ipmicra settings              what is set, and where it comes from
  ipmicra COMMAND --help        examples of each command
"""
