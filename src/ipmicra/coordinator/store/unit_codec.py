"""A ground <-> text that outlives the tree: a subnet's range, a lone address, a site's name."""

from __future__ import annotations

import ipaddress

from ipmicra.addresses import AddressRange
from ipmicra.delegation.delegations import DelegationUnit, is_subnet
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.hierarchy import Subnet
from ipmicra.model.probes import Site


def unit_text(tree: SubnetLookup, unit: DelegationUnit) -> str:
    return str(tree.range_of(unit)) if is_subnet(unit) else str(unit)


def unit_from_text(tree: SubnetLookup, text: str) -> DelegationUnit | None:
    """The ground that a text means in this tree; None where the tree has no such subnet (any more)."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    try:
        wanted = AddressRange.parse(text)
    except ValueError:
        return Site(text)
    return _subnet_of_range(tree, wanted)


def _subnet_of_range(tree: SubnetLookup, wanted: AddressRange) -> Subnet | None:
    """Upwards from its first address: the range itself must be among what encloses that."""
    subnet: Subnet | None = tree.smallest(wanted.first_address())
    while subnet is not None:
        here = tree.range_of(subnet)
        if here == wanted:
            return subnet
        if here.encloses(wanted):
            return None
        subnet = tree.parent(subnet)
    return None
