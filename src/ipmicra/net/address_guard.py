"""An address or a port -> why we must not connect to it, or None.

Invariant: an own table, not `ipaddress.is_global` (which says True for multicast and for NAT64 and 6to4
wrappings of private addresses). An address that wraps an IPv4 address is judged by the address inside,
too. IPv6 outside of 2000::/3 is never public. The verdict is asked for the exact address that a socket is
about to connect to, so a name that changes its answer (rebinding) gains nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.errors import OperatorFault

# IANA's special-purpose registries (IPv4: RFC 6890 and successors), and what is meant for no site.
SPECIAL_RANGES: dict[AddressRange, str] = {
    AddressRange.parse(block): what
    for block, what in {
        "0.0.0.0/8": "this network",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared behind a carrier's NAT",
        "127.0.0.0/8": "loopback",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "protocol assignments",
        "192.0.2.0/24": "documentation",
        "192.31.196.0/24": "AS112 anycast",
        "192.52.193.0/24": "multicast relays",
        "192.88.99.0/24": "6to4 relays",
        "192.168.0.0/16": "private",
        "192.175.48.0/24": "AS112 anycast",
        "198.18.0.0/15": "benchmarking",
        "198.51.100.0/24": "documentation",
        "203.0.113.0/24": "documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
        "::/128": "unspecified",
        "::1/128": "loopback",
        "64:ff9b:1::/48": "local-use NAT64",
        "100::/64": "discard-only",
        # 2001::/23 but for Teredo (2001::/32), which is judged by what it wraps
        "2001:1:: - 2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff": "protocol assignments",
        "2001:db8::/32": "documentation",
        "2620:4f:8000::/48": "AS112 anycast",
        "3fff::/20": "documentation",
        "5f00::/16": "segment routing",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "fec0::/10": "site-local",
        "ff00::/8": "multicast",
    }.items()
}

_GLOBAL_UNICAST = AddressRange.parse("2000::/3")
_MAPPED = AddressRange.parse("::ffff:0:0/96")
_COMPATIBLE = AddressRange.parse("::/96")
_NAT64 = AddressRange.parse("64:ff9b::/96")
_SIX_TO_FOUR = AddressRange.parse("2002::/16")
_TEREDO = AddressRange.parse("2001::/32")
_WRAPPERS_BY_LAST_BITS = (_MAPPED, _COMPATIBLE, _NAT64)
_ISATAP_MARKS = frozenset({0x0000_5EFE, 0x0200_5EFE})

WEB_PORTS = frozenset({80, 443})
# Ports from 1024 up that speak something else, or that administer a machine over HTTP: never a public site.
OTHER_PROTOCOLS_PORTS = frozenset(
    {
        1719,
        1720,
        1723,
        2049,
        3659,
        4045,
        4190,
        5060,
        5061,
        6000,
        6566,
        10080,
    }  # bad ports of WHATWG's fetch
    | {6665, 6666, 6667, 6668, 6669, 6679, 6697}
    | {1433, 1521, 3306, 5432, 5984, 6379, 7000, 7199, 7474, 7687, 8086, 9042, 9160}  # data stores
    | {11211, 27017, 27018, 27019, 28015}
    | {9200, 9300, 5601, 8983}  # search engines and their consoles
    | {2375, 2376, 2377, 4243, 6443, 10248, 10250, 10255, 10256}  # containers: Docker, kubelet
    | {2181, 2379, 2380, 4001, 8300, 8500, 8600, 4646}  # etcd, ZooKeeper, Consul, Nomad
    | {1883, 4369, 5671, 5672, 8883, 9092, 15672, 25672}  # brokers of messages
    | {1080, 3128, 8118, 9050, 9051}  # proxies
    | {3389, 5900, 5901, 5985, 5986, 10000}  # remote desktops and consoles
    | {1099, 4444, 5005, 8009, 9229}  # debuggers and inner protocols of servers
)


class AddressGuard:
    """Where a fetch may go. `open_ranges` are always allowed, `closed_ranges` never."""

    def __init__(
        self,
        open_ranges: Iterable[str] = (),
        closed_ranges: Iterable[str] = (),
        open_ports: Iterable[int] = (),
    ) -> None:
        self._open = ranges_of(open_ranges, "fetching.open_ranges")
        self._closed = ranges_of(closed_ranges, "fetching.closed_ranges")
        self._open_ports = WEB_PORTS | frozenset(open_ports)

    def denial_reason(self, address: IPAddress) -> str | None:
        """The reason not to connect to this address. Reads this machine's routes; sends nothing."""
        if any(block.holds(address) for block in self._closed):
            return f"{address} is closed by the settings"
        if any(block.holds(address) for block in self._open):
            return None
        inner = next((why for held in wrapped(address) if (why := self.denial_reason(held))), None)
        if inner is not None:
            return f"{address} wraps an address: {inner}"
        kind = special_kind(address)
        if kind is not None:
            return f"{address} is not public ({kind})"
        return f"{address} is this machine's own" if is_own(address) else None

    def port_denial_reason(self, port: int) -> str | None:
        if port in self._open_ports or (port >= 1024 and port not in OTHER_PROTOCOLS_PORTS):
            return None
        return f"port {port} is not a web server's"


def special_kind(address: IPAddress) -> str | None:
    """The purpose of a non-public address; None for a public one. Wrapped addresses are not examined."""
    for block, what in SPECIAL_RANGES.items():
        if block.holds(address):
            return what
    if address.version == 4 or _GLOBAL_UNICAST.holds(address):
        return None
    if any(block.holds(address) for block in _WRAPPERS_BY_LAST_BITS):
        return None
    return "not global unicast"


def wrapped(address: IPAddress) -> Iterator[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address carries inside: where its packets may end."""
    if address.version == 4:
        return
    bits = int(address)
    if any(block.holds(address) for block in _WRAPPERS_BY_LAST_BITS):
        yield ipaddress.IPv4Address(bits & 0xFFFF_FFFF)
    elif _SIX_TO_FOUR.holds(address):
        yield ipaddress.IPv4Address(bits >> 80 & 0xFFFF_FFFF)
    elif _TEREDO.holds(address):
        yield ipaddress.IPv4Address(bits >> 64 & 0xFFFF_FFFF)
        yield ipaddress.IPv4Address(bits & 0xFFFF_FFFF ^ 0xFFFF_FFFF)
    if bits >> 32 & 0xFFFF_FFFF in _ISATAP_MARKS:
        yield ipaddress.IPv4Address(bits & 0xFFFF_FFFF)


def is_own(address: IPAddress) -> bool:
    """Whether the address is this machine's: the source address for that destination is the destination
    itself.

    Connecting a datagram socket asks the routing table and sends no packet.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            source: str = probe.getsockname()[0]
    except OSError:
        return False  # no route to it, so it is not here
    return ipaddress.ip_address(source.partition("%")[0]) == address


def ranges_of(texts: Iterable[str], setting: str) -> tuple[AddressRange, ...]:
    """The ranges of a setting. Raises OperatorFault if one is not a range."""
    try:
        return tuple(AddressRange.parse(text) for text in texts)
    except ValueError as error:
        raise OperatorFault(f"{setting}: {error}; write ranges such as 10.1.0.0/16") from error
