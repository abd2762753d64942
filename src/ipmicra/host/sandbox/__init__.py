"""A folder of code that somebody else wrote -> a crawler at work that can harm nobody.

Law: code in a sandbox has no network, none of the host's files, no privileges and no more of the machine
than was lent; whatever it tries beyond that fails and is written down.
"""
