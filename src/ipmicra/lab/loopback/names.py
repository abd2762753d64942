"""Site names -> addresses: a small DNS server for one generated Internet.

It answers A and AAAA queries over UDP by the client's address, with NXDOMAIN for unknown names and "no
such record" for other types. Invariant: for any packet it answers or ignores it; it never raises.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

from ipmicra.addresses import IPAddress

_HEADER = struct.Struct(">HHHHHH")
_A, _AAAA, _IN = 1, 28, 1
_VERSION = {_A: 4, _AAAA: 6}
TTL_SECONDS = 60

Addresses: TypeAlias = Callable[[str], Sequence[IPAddress] | None]  # of a name; None: no such name


class NameServer(asyncio.DatagramProtocol):
    """Answers with the addresses that `seen_from` an asker's address a name has."""

    def __init__(self, seen_from: Callable[[str], Addresses]) -> None:
        self._seen_from = seen_from
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        reply = answer_to(data, self._seen_from(address[0]))
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, address)


def answer_to(question: bytes, addresses_of: Addresses) -> bytes | None:
    """The reply to one DNS question; None to what is not a question."""
    try:
        number, flags, questions, *_ = _HEADER.unpack_from(question)
        if flags & 0x8000 or questions != 1:
            return None
        name, end = _name_at(question, _HEADER.size)
        kind, family = struct.unpack_from(">HH", question, end)
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    found = addresses_of(name) if family == _IN else None
    wanted = [address for address in found or () if address.version == _VERSION.get(kind)]
    answers = b"".join(
        struct.pack(">HHHLH", 0xC00C, kind, _IN, TTL_SECONDS, len(address.packed)) + address.packed
        for address in wanted
    )
    head = _HEADER.pack(number, 0x8580 | (3 if found is None else 0), 1, len(wanted), 0, 0)
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
