"""The interface of the tree of subnets, as delegation needs it.

Invariant: `ipmicra.hierarchy.SubnetTree` implements it, and `NoSubnets` too. A subnet's number is valid
for one tree: data that outlives a tree is stored by range. The root of a family holds every address and so
carries no information: an address whose smallest subnet is the root lies in no known subnet.
"""

from __future__ import annotations

from typing import Protocol

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.hierarchy import Subnet

UNKNOWN_ORGANISATION = -1


class SubnetLookup(Protocol):
    """The tree of subnets, read only."""

    def smallest(self, address: IPAddress) -> Subnet: ...

    def not_unary(self, subnet: Subnet) -> Subnet: ...

    def parent(self, subnet: Subnet) -> Subnet | None: ...

    def range_of(self, subnet: Subnet) -> AddressRange: ...

    def organisation_of(self, subnet: Subnet) -> int: ...

    def organisation_name(self, number: int) -> str: ...

    def country_of(self, subnet: Subnet) -> str: ...

    def registry_of(self, subnet: Subnet) -> str: ...

    def asn_of(self, subnet: Subnet) -> int: ...


class NoSubnets:
    """The tree without registry data: two roots and nothing below."""

    def smallest(self, address: IPAddress) -> Subnet:
        return Subnet(0 if address.version == 4 else 1)

    def not_unary(self, subnet: Subnet) -> Subnet:
        return subnet

    def parent(self, subnet: Subnet) -> Subnet | None:
        return None

    def range_of(self, subnet: Subnet) -> AddressRange:
        return AddressRange.whole(4 if subnet == 0 else 6)

    def organisation_of(self, subnet: Subnet) -> int:
        return UNKNOWN_ORGANISATION

    def organisation_name(self, number: int) -> str:
        return ""

    def country_of(self, subnet: Subnet) -> str:
        return ""

    def registry_of(self, subnet: Subnet) -> str:
        return ""

    def asn_of(self, subnet: Subnet) -> int:
        return 0


def known_subnet(tree: SubnetLookup, address: IPAddress) -> Subnet | None:
    """The smallest subnet of more than one address that holds it; None if only the root does."""
    subnet = tree.not_unary(tree.smallest(address))
    return None if tree.parent(subnet) is None else subnet


def subnets_together(tree: SubnetLookup, address: IPAddress) -> tuple[Subnet, ...]:
    """The subnets delegated together: the address's unary subnet if it has one, and the smallest known
    one that is not unary (IPMicra paper, 4.3). Empty if the address lies in no known subnet."""
    smallest = tree.smallest(address)
    wanted = tree.not_unary(smallest)
    together = (smallest,) if smallest == wanted else (smallest, wanted)
    return tuple(subnet for subnet in together if tree.parent(subnet) is not None)
