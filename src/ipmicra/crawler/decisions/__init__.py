"""Facts about sites and pages -> what to fetch next, how politely, and when again.

Invariant: pure. Time comes in as an argument; nothing here reads a clock, a socket or a file.
"""
