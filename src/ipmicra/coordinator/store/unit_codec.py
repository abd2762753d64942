"""A delegation unit <-> text that outlives the tree: a subnet's range, a single address, a site's name."""

from __future__ import annotations

import ipaddress

from ipmicra.addresses import AddressRange
from ipmicra.delegation.delegations import DelegationUnit, is_subnet
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import SiteName


def unit_text(tree: SubnetLookup, unit: DelegationUnit) -> str:
    return str(tree.range_of(unit)) if is_subnet(unit) else str(unit)


def unit_from_text(tree: SubnetLookup, text: str) -> DelegationUnit | None:
    """The unit that the text names in this tree; None if the tree has no such subnet."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    try:
        wanted = AddressRange.parse(text)
    except ValueError:
        return SiteName(text)
    return _subnet_of_range(tree, wanted)


def _subnet_of_range(tree: SubnetLookup, wanted: AddressRange) -> Subnet | None:
    """Search upwards from the range's first address: the range must be among the subnets that enclose it."""
    subnet: Subnet | None = tree.smallest(wanted.first_address())
    while subnet is not None:
        here = tree.range_of(subnet)
        if here == wanted:
            return subnet
        if here.encloses(wanted):
            return None
        subnet = tree.parent(subnet)
    return None
