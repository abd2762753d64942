"""Addresses of joined hosts -> whether one more host may join from an address.

One machine, one rack or one provider that joins under many names could outvote honest hosts wherever hosts
are compared. Invariant: hosts that have not ended are counted, by address, by network, and by the operator of
the network where the tree of subnets knows it: its organisation, else its autonomous system. Private
addresses say nothing about the machine behind them, and are not counted.
"""

from __future__ import annotations

import ipaddress

from sqlalchemy import Connection, select

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.sql.schema import host_table
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.net.address_guard import special_kind

NETWORK_BITS = {4: 24, 6: 48}  # what one organisation usually has at one place


def refusal(
    connection: Connection, address: str, settings: CoordinatorSettings, tree: SubnetLookup
) -> str | None:
    """The reason why no further host may join from this address, or None."""
    try:
        caller = ipaddress.ip_address(address)
    except ValueError:
        return None  # behind a proxy that does not forward the client's address
    if special_kind(caller) is not None:
        return None
    bits = NETWORK_BITS[caller.version]
    network = AddressRange.parse(str(ipaddress.ip_network(f"{caller}/{bits}", strict=False)))
    joined = _addresses(connection)
    here = sum(other == address for other in joined)
    if here >= settings.hosts_per_address_max:
        return f"{here} hosts have joined from {address} already"
    near = sum(network.holds(ipaddress.ip_address(other)) for other in joined)
    if near >= settings.hosts_per_network_max:
        return f"{near} hosts have joined from {network} already"
    operator = network_operator(tree, caller)
    alike = sum(network_operator(tree, ipaddress.ip_address(other)) == operator for other in joined)
    if operator and alike >= settings.hosts_per_operator_max:
        return f"{alike} hosts have joined from networks of {operator} already"
    return None


def network_operator(tree: SubnetLookup, address: IPAddress) -> str:
    """Who runs the network of an address; empty where the tree does not say."""
    subnet = tree.smallest(address)
    organisation, asn = tree.organisation_of(subnet), tree.asn_of(subnet)
    if organisation >= 0:
        return tree.organisation_name(organisation)
    return f"AS{asn}" if asn else ""


def _addresses(connection: Connection) -> list[str]:
    rows = connection.execute(
        select(host_table.c.address).where(
            host_table.c.state == HostState.ENROLLED, host_table.c.address != ""
        )
    ).scalars()
    return [address for address in rows if _is_address(address)]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
