"""A Content-Addressable Network over network coordinates, as a protocol without sockets.

Invariant: pure. A peer is `handle(message, now_s) -> messages`; the simulator and the live transport
carry the same messages between the same peers.
"""
