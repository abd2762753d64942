"""A generated Internet on loopback -> the whole life of the system in a minute, and what nearness was worth.

`town` says what there is, `stage` runs it as real processes by the documented commands, and `race` has
every strategy crawl the same sites.
"""
