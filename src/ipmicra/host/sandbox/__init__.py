"""A folder of untrusted code -> a running crawler that can do no harm.

Invariant: code in a sandbox has no network, none of the host's files, no privileges, and no more of the
machine than the owner's limits. Anything beyond that fails and is logged.
"""
