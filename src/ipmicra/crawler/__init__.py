"""Delegated sites -> pages: frontier, robots, fetching, extraction, revisits.

The decisions (what next, how politely, when again) are in `decisions/` and are pure; all other modules
here may use the network and the disk.
"""
