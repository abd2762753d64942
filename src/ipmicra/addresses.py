"""Text -> addresses, and half-open ranges of addresses, in both families.

Invariant: this module owns the one interval convention, `start <= address < end`. No other module
compares bounds by hand. `end` of a whole family is one past its last address, so it needs Python's
integers.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

Family: TypeAlias = Literal[4, 6]
IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

BITS: dict[Family, int] = {4: 32, 6: 128}


class AddressRange(NamedTuple):
    """Addresses `start`, `start + 1`, ... `end - 1` of one family."""

    family: Family
    start: int
    end: int

    @classmethod
    def parse(cls, text: str) -> AddressRange:
        """From "192.0.2.0/24", "192.0.2.0 - 192.0.2.9", or one address. Host bits are an error."""
        first, dash, last = text.partition("-")
        if dash:
            low, high = ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip())
            if low.version != high.version:
                raise ValueError(f"{text!r} begins in one address family and ends in the other")
            if high < low:  # type: ignore[operator]  # same family, checked above
                raise ValueError(f"{text!r} ends before it begins")
            return cls(low.version, int(low), int(high) + 1)
        network = ipaddress.ip_network(text.strip())
        start = int(network.network_address)
        return cls(network.version, start, start + network.num_addresses)

    @classmethod
    def of_address(cls, address: IPAddress) -> AddressRange:
        """The range that holds just this address."""
        return cls(address.version, int(address), int(address) + 1)

    @classmethod
    def whole(cls, family: Family) -> AddressRange:
        """All addresses of a family."""
        return cls(family, 0, 1 << BITS[family])

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def is_unary(self) -> bool:
        """One address only (paper 000, 4.3)."""
        return self.size == 1

    def holds(self, address: IPAddress) -> bool:
        return address.version == self.family and self.start <= int(address) < self.end

    def encloses(self, other: AddressRange) -> bool:
        """Whether every address of `other` is one of ours; a range encloses itself."""
        return self.family == other.family and self.start <= other.start and other.end <= self.end

    def overlaps(self, other: AddressRange) -> bool:
        return self.family == other.family and self.start < other.end and other.start < self.end

    def first_address(self) -> IPAddress:
        return address_of(self.family, self.start)

    def last_address(self) -> IPAddress:
        return address_of(self.family, self.end - 1)

    def blocks(self) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        """The fewest CIDR blocks that make up the range, lowest first."""
        first, last = self.first_address(), self.last_address()
        yield from ipaddress.summarize_address_range(first, last)

    def __str__(self) -> str:
        """CIDR where the range is one block, else "first - last"."""
        bits = self.size.bit_length() - 1
        if self.size == 1 << bits and self.start % self.size == 0:
            return f"{self.first_address()}/{BITS[self.family] - bits}"
        return f"{self.first_address()} - {self.last_address()}"


def gaps_between(ranges: Iterable[AddressRange], family: Family) -> Iterator[AddressRange]:
    """All addresses of the family that none of the ranges holds, lowest first."""
    reached, end = 0, 1 << BITS[family]
    for block in sorted(block for block in ranges if block.family == family):
        if block.start > reached:
            yield AddressRange(family, reached, block.start)
        reached = max(reached, block.end)
    if reached < end:
        yield AddressRange(family, reached, end)


def address_of(family: Family, value: int) -> IPAddress:
    """The address with that number."""
    return ipaddress.IPv4Address(value) if family == 4 else ipaddress.IPv6Address(value)
