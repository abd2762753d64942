"""A crawler without a network -> connected sockets, each judged and counted by the dock.

Law: names are resolved, addresses judged and connections made by the host's own program only. What was
passed in can be counted and cut off at any time, since the dock keeps a second handle on it.
"""
