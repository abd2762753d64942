"""Addresses of joined hosts -> whether one more host may join from an address.

One machine, or one rack, that joins under many names could outvote honest hosts wherever hosts are
compared. Invariant: hosts that have not ended are counted, by address and by network. Private addresses say
nothing about the machine behind them, and are not counted.
"""

from __future__ import annotations

import ipaddress

from sqlalchemy import Connection, select

from ipmicra.addresses import AddressRange
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.sql.schema import host_table
from ipmicra.net.address_guard import special_kind

NETWORK_BITS = {4: 24, 6: 48}  # what one organisation usually has at one place


def refusal(connection: Connection, address: str, settings: CoordinatorSettings) -> str | None:
    """The reason why no further host may join from this address, or None."""
    try:
        caller = ipaddress.ip_address(address)
    except ValueError:
        return None  # behind a proxy that does not say who calls
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
    return None


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
