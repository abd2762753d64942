"""Site names -> loopback addresses: a small DNS server for one made-up Internet.

It answers A questions from a table over UDP, says NXDOMAIN to other names, and "no such record" to other
types. Law: whatever arrives, it answers or stays silent; it never raises.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import cast

_HEADER = struct.Struct(">HHHHHH")
_A, _IN = 1, 1
TTL_SECONDS = 60


class NameServer(asyncio.DatagramProtocol):
    """Answers for the names in its table."""

    def __init__(self, table: Mapping[str, IPv4Address]) -> None:
        self._table = table
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        reply = answer_to(data, self._table)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, address)


def answer_to(question: bytes, table: Mapping[str, IPv4Address]) -> bytes | None:
    """The reply to one DNS question; None to what is no question."""
    try:
        number, flags, questions, *_ = _HEADER.unpack_from(question)
        if flags & 0x8000 or questions != 1:
            return None
        name, end = _name_at(question, _HEADER.size)
        kind, family = struct.unpack_from(">HH", question, end)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    found = table.get(name) if family == _IN else None
    known = name in table
    answers = b""
    if found is not None and kind == _A:
        answers = struct.pack(">HHHLH", 0xC00C, _A, _IN, TTL_SECONDS, 4) + found.packed
    head = _HEADER.pack(number, 0x8580 | (0 if known else 3), 1, 1 if answers else 0, 0, 0)
    return head + question[_HEADER.size : end + 4] + answers


def _name_at(data: bytes, at: int) -> tuple[str, int]:
    """The name that begins there, in lower case, and where it ends."""
    labels: list[str] = []
    while data[at]:
        length = data[at]
        if length > 63:
            raise IndexError("a compressed name in a question")
        labels.append(data[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1
