"""A folder of untrusted code -> a crawler at work that can harm nobody.

Invariant: code in a sandbox has no network, none of the host's files, no privileges, and no more of the
machine than the owner's limits. Anything beyond that fails and is logged.
"""
