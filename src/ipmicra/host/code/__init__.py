"""Signed bundles of code -> a crawler's program in one of two slots, tried, kept or rolled back.

`bundle` packs and unpacks, `trust` decides whose bundle it is, `slots` which code runs next, `health`
whether it deserves to. Law: installed by the host's owner; nothing here can be changed by a bundle or by the
coordinator.
"""
