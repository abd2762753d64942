"""What delegation needs of the tree of subnets.

Law: `ipmicra.hierarchy.SubnetTree` is one; a test's handful of ranges is another. A SubnetId is good
for one tree: what outlives a tree is kept by range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from ipmicra.addresses import AddressRange, IPAddress

SubnetId: TypeAlias = int


class Subnets(Protocol):
    """The tree of subnets, read only. None where an address lies in no subnet."""

    def smallest(self, address: IPAddress) -> SubnetId | None: ...

    def smallest_not_unary(self, address: IPAddress) -> SubnetId | None: ...

    def parent(self, subnet: SubnetId) -> SubnetId | None: ...

    def children(self, subnet: SubnetId) -> Sequence[SubnetId]: ...

    def range_of(self, subnet: SubnetId) -> AddressRange: ...

    def organisation_of(self, subnet: SubnetId) -> str | None: ...

    def country_of(self, subnet: SubnetId) -> str | None: ...


class NoSubnets:
    """The tree of somebody who has no registry data: no address lies in any subnet."""

    def smallest(self, address: IPAddress) -> SubnetId | None:
        return None

    def smallest_not_unary(self, address: IPAddress) -> SubnetId | None:
        return None

    def parent(self, subnet: SubnetId) -> SubnetId | None:
        return None

    def children(self, subnet: SubnetId) -> Sequence[SubnetId]:
        return ()

    def range_of(self, subnet: SubnetId) -> AddressRange:
        raise KeyError(subnet)

    def organisation_of(self, subnet: SubnetId) -> str | None:
        return None

    def country_of(self, subnet: SubnetId) -> str | None:
        return None
