"""Signed bundles of code -> a crawler's program in one of two slots: tried, then kept or rolled back.

`slots` decides which code runs next, `health` whether a trial succeeds, `updater` carries it out, and
`consent` records the owner's permission. Invariant: installed by the host's owner; neither a bundle nor
the coordinator can change anything here.
"""
