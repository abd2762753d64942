"""Peers of the overlay over real sockets: the same peers, the same messages, carried by TCP.

Invariant: nothing is decided here. A message comes in, the peer's answers go out; a peer that cannot be
reached is reported to the peer that wrote to it.
"""
