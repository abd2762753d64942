"""Packets as the kernel would write them, as far as the router looks."""

from __future__ import annotations

import struct
from ipaddress import ip_address

TCP, UDP = 6, 17
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10


def packet(source: str, destination: str, protocol: int, payload: bytes) -> bytes:
    one, other = ip_address(source), ip_address(destination)
    if one.version == 4:
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
    else:
        head = struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64)
    return head + one.packed + other.packed + payload


def segment(source: str, destination: str, flags: int = ACK, data: bytes = b"") -> bytes:
    tcp = struct.pack(">HHIIBBHHH", 40_000, 80, 0, 0, 5 << 4, flags, 65_535, 0, 0)
    return packet(source, destination, TCP, tcp + data)


def datagram(source: str, destination: str, source_port: int, destination_port: int) -> bytes:
    head = struct.pack(">HHHH", source_port, destination_port, 8, 0)
    return packet(source, destination, UDP, head)


def ping(source: str, destination: str) -> bytes:
    version = ip_address(source).version
    kind, protocol = (8, 1) if version == 4 else (128, 58)
    return packet(source, destination, protocol, struct.pack(">BBHHH", kind, 0, 0, 1, 1))
