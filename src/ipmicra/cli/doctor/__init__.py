"""An installation -> findings: what is well, what is not, and what to do about it.

Invariant: a check changes nothing that lasts, ends by its deadline, and never keeps another from running.
"""
