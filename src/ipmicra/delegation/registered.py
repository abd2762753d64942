"""The hierarchy's tree -> the subnets that delegation asks about.

The hierarchy answers every address, with the whole family where no allocation holds it; delegation wants
to hear None there, and organisations as a text that means the same in the next tree: the handle, or the
name where there is no handle.
"""

from __future__ import annotations

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.delegation.subnets import SubnetId
from ipmicra.hierarchy.organisation import UNKNOWN
from ipmicra.hierarchy.tree import Subnet, SubnetTree


class RegisteredSubnets:
    """A tree of subnets as delegation sees it, read only."""

    def __init__(self, tree: SubnetTree) -> None:
        self.tree = tree
        self._roots = frozenset((tree.root(4), tree.root(6)))

    def smallest(self, address: IPAddress) -> SubnetId | None:
        return self._registered(self.tree.smallest(address))

    def smallest_not_unary(self, address: IPAddress) -> SubnetId | None:
        return self._registered(self.tree.smallest_not_unary(address))

    def parent(self, subnet: SubnetId) -> SubnetId | None:
        return self._registered(self.tree.parent(Subnet(subnet)))

    def children(self, subnet: SubnetId) -> list[Subnet]:
        return self.tree.children(Subnet(subnet))

    def range_of(self, subnet: SubnetId) -> AddressRange:
        return self.tree.range_of(Subnet(subnet))

    def organisation_of(self, subnet: SubnetId) -> str | None:
        number = self.tree.organisation_of(Subnet(subnet))
        if number == UNKNOWN:
            return None
        return self.tree.organisation_handle(number) or self.tree.organisation_name(number) or None

    def country_of(self, subnet: SubnetId) -> str | None:
        return self.tree.country_of(Subnet(subnet)) or None

    def registry_of(self, subnet: SubnetId) -> str | None:
        return self.tree.registry_of(Subnet(subnet)) or None

    def asn_of(self, subnet: SubnetId) -> int | None:
        """The autonomous system that announces the subnet."""
        return self.tree.asn_of(Subnet(subnet)) or None

    def _registered(self, subnet: Subnet | None) -> SubnetId | None:
        return None if subnet is None or subnet in self._roots else subnet
