"""The kernel's routing tables and an address -> whether it is on-link: reached without a router.

Machines on the same link may have public addresses too (a rented server's rack, a campus). Invariant:
nothing is sent. A route wider than `WIDEST` is a point-to-point link and says nothing about neighbours.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ipmicra.addresses import AddressRange, IPAddress

ROUTES_V4, ROUTES_V6 = Path("/proc/net/route"), Path("/proc/net/ipv6_route")
WIDEST = {4: 8, 6: 16}  # bits of prefix
_UP, _THROUGH_ROUTER = 0x1, 0x2


class OnlinkRoute(NamedTuple):
    """Where packets to a range of addresses go."""

    range: AddressRange
    prefix_bits: int
    direct: bool


def is_neighbour(address: IPAddress, routes: Iterable[OnlinkRoute]) -> bool:
    """Decided by the narrowest route that contains the address."""
    fitting = [route for route in routes if route.range.holds(address)]
    if not fitting:
        return False
    narrowest = max(fitting, key=lambda route: route.prefix_bits)
    return narrowest.direct and narrowest.prefix_bits >= WIDEST[address.version]


def routes() -> list[OnlinkRoute]:
    """The routes of this machine now. Empty where the kernel does not provide them."""
    found: list[OnlinkRoute] = []
    for path, read in ((ROUTES_V4, parse_routes_v4), (ROUTES_V6, parse_routes_v6)):
        try:
            found += read(path.read_text())
        except (OSError, ValueError, IndexError):
            continue
    return found


def parse_routes_v4(text: str) -> Iterator[OnlinkRoute]:
    for line in text.splitlines()[1:]:
        _, target, _, flags, _, _, _, mask, *_ = line.split()
        bits = int(mask, 16).bit_count()
        start = socket.inet_ntoa(struct.pack("=I", int(target, 16)))
        yield _route(start, bits, int(flags, 16))


def parse_routes_v6(text: str) -> Iterator[OnlinkRoute]:
    for line in text.splitlines():
        target, bits, *_, flags, device = line.split()
        if device != "lo":
            yield _route(str(ipaddress.IPv6Address(int(target, 16))), int(bits, 16), int(flags, 16))


def _route(start: str, bits: int, flags: int) -> OnlinkRoute:
    direct = bool(flags & _UP) and not flags & _THROUGH_ROUTER
    return OnlinkRoute(AddressRange.parse(f"{start}/{bits}"), bits, direct)
