"""Delegated sites -> pages: frontier, robots, fetching, extraction, revisits.

The decisions (what next, how politely, when again) live in `decisions/` and are pure; everything else
here may talk to the network and to disks.
"""
