"""Columns -> answers about subnets: which holds an address, what is above, below and beside it.

The tree is immutable and knows both families behind one numbering. It holds no object per subnet: a
subnet is a number, and everything about it is read from the columns, which may be a mapped file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import NewType, cast

import numpy as np
from numpy.typing import NDArray

from ipmicra.addresses import AddressRange, Family, IPAddress
from ipmicra.hierarchy.columns import TreeColumns, TreeNames
from ipmicra.hierarchy.search import V4Search, V6Search

Subnet = NewType("Subnet", int)

# The parts of a dotted address -> what each adds to its number.
FIRST, SECOND, THIRD, FOURTH = ({str(n): n << shift for n in range(256)} for shift in (24, 16, 8, 0))


class SubnetTree:
    """The Internet's address ranges by enclosure. Make one with `build_tree`, or open a tree file."""

    def __init__(self, columns: TreeColumns, names: TreeNames) -> None:
        self.columns = columns
        self.names = names
        self._v4_count = len(columns.v4_starts)
        self._v4 = V4Search(columns)
        self._v6 = V6Search(columns)
        # `smallest` for the number of an address: the fastest way in, so without a call between.
        self.smallest_of_v4 = cast("Callable[[int], Subnet]", self._v4.smallest)
        self.smallest_of_v6 = cast("Callable[[int], Subnet]", self._v6.smallest)

    # --- the whole ---

    def __len__(self) -> int:
        """Subnets of both families, the two roots among them."""
        return len(self.columns.parents)

    def root(self, family: Family) -> Subnet:
        return Subnet(0 if family == 4 else self._v4_count)

    def subnets(self, family: Family) -> range:
        """All subnets of a family in walk order: outer before inner, left before right."""
        return range(self._v4_count) if family == 4 else range(self._v4_count, len(self))

    @property
    def organisation_count(self) -> int:
        return len(self.names.organisation_names)

    # --- an address -> a subnet ---

    def smallest(self, address: IPAddress) -> Subnet:
        """The smallest subnet that holds the address; the root where no allocation does."""
        if address.version == 4:
            return self.smallest_of_v4(int(address))
        return self.smallest_of_v6(int(address))

    def smallest_of_text(self, text: str) -> Subnet:
        """The same for an address as text, several times faster than by way of `ipaddress`."""
        try:
            first, second, third, fourth = text.split(".")
            value = FIRST[first] + SECOND[second] + THIRD[third] + FOURTH[fourth]
        except (KeyError, ValueError):
            return self.smallest(ipaddress.ip_address(text))
        return self.smallest_of_v4(value)

    def smallest_not_unary(self, address: IPAddress) -> Subnet:
        """The smallest subnet of more than one address that holds it (IPMicra paper, 4.3)."""
        return self.not_unary(self.smallest(address))

    def not_unary(self, subnet: Subnet) -> Subnet:
        """The subnet itself, or its parent where it is of one address."""
        return Subnet(self.columns.parents[subnet].item()) if self.range_of(subnet).is_unary else subnet

    def smallest_batch(self, addresses: NDArray[np.uint32]) -> NDArray[np.int64]:
        """`smallest` of many IPv4 addresses."""
        return self._v4.smallest_batch(addresses)

    def smallest_batch_v6(self, addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        """`smallest` of many IPv6 addresses: rows of two, the high and the low 64 bits."""
        return self._v6.smallest_batch(addresses)

    def smallest_not_unary_batch(self, addresses: NDArray[np.uint32]) -> NDArray[np.int64]:
        subnets = self._v4.smallest_batch(addresses)
        columns = self.columns
        is_unary = columns.v4_starts[subnets] == columns.v4_lasts[subnets]
        subnets[is_unary] = columns.parents[subnets[is_unary]]
        return subnets

    def smallest_not_unary_batch_v6(self, addresses: NDArray[np.uint64]) -> NDArray[np.int64]:
        subnets = self._v6.smallest_batch(addresses)
        columns, here = self.columns, subnets - self._v4_count
        is_unary = (columns.v6_starts_high[here] == columns.v6_lasts_high[here]) & (
            columns.v6_starts_low[here] == columns.v6_lasts_low[here]
        )
        subnets[is_unary] = columns.parents[subnets[is_unary]]
        return subnets

    # --- a subnet -> subnets ---

    def parent(self, subnet: Subnet) -> Subnet | None:
        parent = self.columns.parents[subnet].item()
        return Subnet(parent) if parent >= 0 else None

    def children(self, subnet: Subnet) -> list[Subnet]:
        """The largest subnets inside this one, lowest first."""
        inside = self.columns.parents[subnet + 1 : self.end_of_subtree(subnet)]
        return [Subnet(place) for place in (np.flatnonzero(inside == subnet) + (subnet + 1)).tolist()]

    def siblings(self, subnet: Subnet) -> list[Subnet]:
        """The other children of its parent."""
        parent = self.parent(subnet)
        return [] if parent is None else [child for child in self.children(parent) if child != subnet]

    def path(self, subnet: Subnet) -> list[Subnet]:
        """From the root down to the subnet itself."""
        path = [subnet]
        while (parent := self.parent(path[-1])) is not None:
            path.append(parent)
        return path[::-1]

    def depth(self, subnet: Subnet) -> int:
        """Steps from the root, which is at 0."""
        return len(self.path(subnet)) - 1

    def end_of_subtree(self, subnet: Subnet) -> Subnet:
        """One past the last subnet inside this one: all between, in walk order, are inside."""
        family, _, end = self.range_of(subnet)
        search = self._v4 if family == 4 else self._v6
        return Subnet(search.first_from(end))

    # --- a subnet -> what is known of it ---

    def range_of(self, subnet: Subnet) -> AddressRange:
        columns = self.columns
        if subnet < self._v4_count:
            return AddressRange(4, columns.v4_starts[subnet].item(), columns.v4_lasts[subnet].item() + 1)
        here = subnet - self._v4_count
        start = columns.v6_starts_high[here].item() << 64 | columns.v6_starts_low[here].item()
        last = columns.v6_lasts_high[here].item() << 64 | columns.v6_lasts_low[here].item()
        return AddressRange(6, start, last + 1)

    def organisation_of(self, subnet: Subnet) -> int:
        """The number of the organisation that registered it, -1 for unknown."""
        return int(self.columns.organisations[subnet])

    def country_of(self, subnet: Subnet) -> str:
        return self.names.countries[self.columns.countries[subnet].item()]

    def registry_of(self, subnet: Subnet) -> str:
        return self.names.registries[self.columns.registries[subnet].item()]

    def status_of(self, subnet: Subnet) -> str:
        return self.names.statuses[self.columns.statuses[subnet].item()]

    def source_of(self, subnet: Subnet) -> str:
        """Where the range is written: the file or kind of file that its first record came from."""
        return self.names.sources[self.columns.sources[subnet].item()]

    def asn_of(self, subnet: Subnet) -> int:
        """The number of the autonomous system that announces it, 0 for unknown."""
        asns = self.columns.asns
        return int(asns[subnet]) if len(asns) else 0

    # --- organisations ---

    def organisation_name(self, number: int) -> str:
        return self.names.organisation_names[number]

    def organisation_handle(self, number: int) -> str:
        return self.names.organisation_handles[number]

    def subnets_of_organisation(self, number: int) -> NDArray[np.uint32]:
        """All subnets of an organisation in walk order; none for an unknown one."""
        if not 0 <= number < self.organisation_count:
            return self.columns.by_organisation[:0]
        bounds = self.columns.organisation_bounds
        return self.columns.by_organisation[bounds[number] : bounds[number + 1]]
