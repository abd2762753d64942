"""A connected TCP socket -> the kernel's own round-trip time of it.

The kernel times each segment against its acknowledgement, so the figure is free of the server's
thinking and of this process's stalls. Invariant: no packet is sent for it. Where TCP_INFO is missing the
answer is None.
"""

from __future__ import annotations

import socket
import struct

# struct tcp_info of linux/tcp.h: eight bytes, then 32-bit words; rtt and min_rtt are microseconds.
_RTT_OFFSET = 68
_MIN_RTT_OFFSET = 148
_LENGTH = 152
_NO_SAMPLE = 0xFFFF_FFFF
_MICROSECONDS = struct.Struct("=I")


def round_trip_ms(connected: socket.socket) -> float | None:
    """The least round trip that the connection has seen, else its smoothed one, else None."""
    try:
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LENGTH)
    except (OSError, AttributeError):
        return None
    if len(info) >= _LENGTH:
        (least,) = _MICROSECONDS.unpack_from(info, _MIN_RTT_OFFSET)
        if 0 < least < _NO_SAMPLE:
            return float(least) / 1000
    if len(info) < _RTT_OFFSET + 4:
        return None
    (smoothed,) = _MICROSECONDS.unpack_from(info, _RTT_OFFSET)
    return float(smoothed) / 1000 if smoothed else None
