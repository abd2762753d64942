"""A crawler without a network -> connected sockets, each checked and counted by the host.

Invariant: only the host's own program resolves names, checks addresses and connects. It keeps a second
handle on every socket that it passes in, so it can count and close each one at any time.
"""
