"""A world's round trips -> crawlers, sites and coordinates, and what an overlay makes of them.

Invariant: without messages, and with the peers' own decision functions; a test compares it with the
result of peers that exchange messages.
"""
