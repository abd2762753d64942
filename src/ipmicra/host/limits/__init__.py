"""The owner's rules -> whether, when and how fast the crawler may work.

Invariant: the copy of the rules on the host always wins.
"""
