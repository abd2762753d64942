"""Names and addresses -> connected sockets and their round trips: address guard, DNS, TCP, kernel timing.

Invariant: every address is judged by the guard right before it is connected to.
"""
