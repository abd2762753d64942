"""An address -> the time of one ICMP echo, on the socket type that needs no privilege, else a raw one.

Invariant: one packet out. Its answer is known by a token in the payload, since the kernel chooses the
identifier of unprivileged sockets.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
from time import monotonic

from ipmicra.addresses import IPAddress

_ECHO = {4: 8, 6: 128}
_FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
_PROTOCOL = {4: socket.IPPROTO_ICMP, 6: socket.IPPROTO_ICMPV6}
_TOKEN_BYTES = 16
_DATAGRAM_BYTES_MAX = 1500


async def echo_ms(address: IPAddress, patience_ms: int) -> float:
    """Raises PermissionError where ICMP is not allowed, TimeoutError without an answer, else OSError."""
    token = secrets.token_bytes(_TOKEN_BYTES)
    loop = asyncio.get_running_loop()
    with _echo_socket(address) as sock:
        sock.setblocking(False)
        sock.connect((str(address), 0))
        started_at = monotonic()
        await loop.sock_sendall(sock, _echo(address.version, token))
        async with asyncio.timeout(patience_ms / 1000):
            while True:
                received = await loop.sock_recv(sock, _DATAGRAM_BYTES_MAX)
                if _is_reply(received, address.version, token):
                    return (monotonic() - started_at) * 1000


def _echo_socket(address: IPAddress) -> socket.socket:
    family, protocol = _FAMILY[address.version], _PROTOCOL[address.version]
    try:
        return socket.socket(family, socket.SOCK_DGRAM, protocol)
    except PermissionError:
        return socket.socket(family, socket.SOCK_RAW, protocol)


def _echo(version: int, token: bytes) -> bytes:
    head = struct.pack("!BBHHH", _ECHO[version], 0, 0, 0, 1)
    checksum = _checksum(head + token) if version == 4 else 0  # the kernel fills in version 6's
    return struct.pack("!BBHHH", _ECHO[version], 0, checksum, 0, 1) + token


def _is_reply(received: bytes, version: int, token: bytes) -> bool:
    """Raw sockets also receive our own echo request on loopback, and the IP header of version 4."""
    if not received.endswith(token):
        return False
    kind = received[-len(token) - 8]
    return kind != _ECHO[version]


def _checksum(data: bytes) -> int:
    """RFC 1071."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
