"""Bytes from a TUN device -> the fields of an IP packet that decide its path: source, destination, and
whether it opens a connection.

Invariant: for any bytes the result is a value; nothing raises.
"""

from __future__ import annotations

from typing import NamedTuple

from ipmicra.addresses import BITS, Family

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
_SYN, _ACK = 0x02, 0x10
_ECHO_REQUESTS = {(ICMP, 8), (ICMP6, 128)}
_IPV6_HEADER_BYTES = 40  # extension headers do not occur in the box


class Ends(NamedTuple):
    """Source and destination of a packet, as numbers of their family."""

    family: Family
    source: int
    destination: int


class Flow(NamedTuple):
    """One flow of datagrams, as its inner end sees it."""

    inner: bytes  # address and port
    outer: bytes


def pair_of(packet: bytes) -> bytes:
    """Source and destination addresses in one piece; empty if this is not an IP packet."""
    if len(packet) < 20:
        return b""
    version = packet[0] >> 4
    if version == 4:
        return packet[12:20]
    return packet[8:40] if version == 6 and len(packet) >= 40 else b""


def ends_of(pair: bytes) -> Ends:
    """The pair from `pair_of`, as numbers."""
    family: Family = 4 if len(pair) == 8 else 6
    size = BITS[family] // 8
    return Ends(family, int.from_bytes(pair[:size], "big"), int.from_bytes(pair[size:], "big"))


def is_call(packet: bytes) -> bool:
    """Whether it opens a new flow: a TCP connection, or a ping."""
    protocol, at = _payload(packet)
    if protocol == TCP:
        return len(packet) > at + 13 and packet[at + 13] & (_SYN | _ACK) == _SYN
    return len(packet) > at and (protocol, packet[at]) in _ECHO_REQUESTS


def flow_of(packet: bytes, *, outward: bool) -> Flow | None:
    """The flow a UDP datagram belongs to, seen from its inner end; None for other protocols."""
    protocol, at = _payload(packet)
    if protocol != UDP or len(packet) < at + 4:
        return None
    pair = pair_of(packet)
    half = len(pair) // 2
    source, destination = pair[:half] + packet[at : at + 2], pair[half:] + packet[at + 2 : at + 4]
    return Flow(source, destination) if outward else Flow(destination, source)


def _payload(packet: bytes) -> tuple[int, int]:
    """The protocol that an IP packet carries, and where that begins."""
    if packet[0] >> 4 == 4:
        return packet[9], (packet[0] & 15) * 4
    return packet[6], _IPV6_HEADER_BYTES
