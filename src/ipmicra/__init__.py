"""ipmicra: a web crawler and search engine that lives in many places at once.

The rooms, in the order in which data flows through them, are described in ARCHITECTURE.md.
"""

__version__ = "0.1.0"
