"""Connections that were passed into the sandbox -> bytes that each has carried, by the kernel's
count, and their end.

The host keeps a second handle on every socket that it passes in. Invariant: the kernel counts the bytes,
not the code that uses the socket. A connection that either side has ended is counted and removed at
once. The host can close every connection at any time.
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from ipmicra.addresses import IPAddress

# struct tcp_info of linux/tcp.h
_ACKNOWLEDGED_AND_RECEIVED = struct.Struct("=QQ")
_OFFSET, _LENGTH = 120, 152
ENDED = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
EVENTS_AT_ONCE = 256


@dataclass(slots=True)
class OpenConnection:
    """One connection that was passed in."""

    sock: socket.socket
    site: str
    address: IPAddress
    bytes_in: int = 0
    bytes_out: int = 0


ByteCounter = Callable[[OpenConnection, int, int], None]  # bytes in and out since it was last counted


class ConnectionTable:
    """All open connections of one crawler. `on_bytes` receives what they carry. Close it."""

    def __init__(self, on_bytes: ByteCounter) -> None:
        self._on_bytes = on_bytes
        self._open: dict[int, OpenConnection] = {}
        self._at: dict[IPAddress, int] = {}
        self._poll = select.epoll()
        asyncio.get_running_loop().add_reader(self._poll.fileno(), self._on_ended)

    def __len__(self) -> int:
        return len(self._open)

    def open_to(self, address: IPAddress) -> int:
        return self._at.get(address, 0)

    def add(self, connection: OpenConnection) -> None:
        number = connection.sock.fileno()
        self._open[number] = connection
        self._at[connection.address] = self._at.get(connection.address, 0) + 1
        self._poll.register(number, ENDED)

    def count(self) -> None:
        """Count what was carried since the last call."""
        for connection in self._open.values():
            self._count(connection)

    def close_connections(self) -> int:
        """Close every connection, also inside the sandbox. Returns the number of connections."""
        open_now = list(self._open)
        for number in open_now:
            self._end(number)
        return len(open_now)

    def close(self) -> None:
        self.close_connections()
        asyncio.get_running_loop().remove_reader(self._poll.fileno())
        self._poll.close()

    def _on_ended(self) -> None:
        for number, _ in self._poll.poll(0, EVENTS_AT_ONCE):
            self._end(number)

    def _end(self, number: int) -> None:
        connection = self._open.pop(number)
        self._count(connection)
        self._at[connection.address] -= 1
        if not self._at[connection.address]:
            del self._at[connection.address]
        self._poll.unregister(number)
        with suppress(OSError):  # what was received can still be read
            connection.sock.shutdown(socket.SHUT_RDWR)
        connection.sock.close()

    def _count(self, connection: OpenConnection) -> None:
        try:
            info = connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LENGTH)
            sent, received = _ACKNOWLEDGED_AND_RECEIVED.unpack_from(info, _OFFSET)
        except (OSError, struct.error):
            return
        grown = received - connection.bytes_in, sent - connection.bytes_out
        if any(grown):
            connection.bytes_in, connection.bytes_out = received, sent
            self._on_bytes(connection, *grown)
