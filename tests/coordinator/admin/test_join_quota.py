"""One machine, one rack or one provider does not become a crowd of hosts."""

from __future__ import annotations

import pytest

from ipmicra.addresses import IPAddress
from ipmicra.coordinator.admin import join_quota
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import hosts
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION, NoSubnets
from ipmicra.hierarchy import Subnet

NOW = 1_800_000_000.0
SETTINGS = CoordinatorSettings(
    hosts_per_address_max=2, hosts_per_network_max=3, hosts_per_operator_max=4
)


def joined(database: Database, *addresses: str) -> None:
    with database.begin() as connection:
        for number, address in enumerate(addresses):
            hosts.register(connection, f"host-{number}", f"token-{number}", NOW, 60)
            hosts.enrol(connection, f"token-{number}", bytes([number] * 32), address, NOW)


@pytest.mark.parametrize(
    ("before", "address", "reason"),
    [
        (["8.8.8.8"], "8.8.8.8", None),
        (["8.8.8.8", "8.8.8.8"], "8.8.8.8", "2 hosts have joined from 8.8.8.8 already"),
        (["8.8.8.8", "8.8.8.8"], "8.8.8.9", None),
        (["8.8.8.1", "8.8.8.2", "8.8.8.3"], "8.8.8.9", "3 hosts have joined from 8.8.8.0/24 already"),
        (["8.8.8.1", "8.8.8.2", "8.8.8.3"], "8.8.9.9", None),
        (["2a00::1", "2a00::2", "2a00::3:1"], "2a00::9", "3 hosts have joined from 2a00::/48 already"),
        (["127.0.0.1"] * 5, "127.0.0.1", None),  # says nothing of who is behind it
        (["10.0.0.1"] * 5, "10.0.0.1", None),
        ([], "a proxy", None),
    ],
)
def test_hosts_that_join_are_counted_by_address_and_network(
    database: Database, before: list[str], address: str, reason: str | None
) -> None:
    joined(database, *before)
    with database.read() as connection:
        assert join_quota.refusal(connection, address, SETTINGS, NoSubnets()) == reason


def test_a_host_that_has_left_makes_room(database: Database) -> None:
    joined(database, "8.8.8.8", "8.8.8.8")
    with database.begin() as connection:
        hosts.end_host(connection, "host-0", hosts.HostState.LEFT)
        assert join_quota.refusal(connection, "8.8.8.8", SETTINGS, NoSubnets()) is None


class Networks(NoSubnets):
    """8.8.0.0/16 and 9.9.0.0/16 are one organisation's, 11.0.0.0/8 one autonomous system's."""

    def smallest(self, address: IPAddress) -> Subnet:
        return Subnet(int(address) >> 24)

    def organisation_of(self, subnet: Subnet) -> int:
        return 7 if subnet in (8, 9) else UNKNOWN_ORGANISATION

    def organisation_name(self, number: int) -> str:
        return {7: "Rent-a-Rack"}[number]

    def asn_of(self, subnet: Subnet) -> int:
        return 64_500 if subnet == 11 else 0


@pytest.mark.parametrize(
    ("before", "address", "reason"),
    [
        (["8.8.1.1", "9.9.1.1", "9.9.2.1"], "8.8.9.1", None),
        (
            ["8.8.1.1", "8.8.2.1", "9.9.1.1", "9.9.2.1"],
            "8.8.9.1",
            "4 hosts have joined from networks of Rent-a-Rack already",
        ),
        (
            ["11.0.1.1", "11.0.2.1", "11.0.3.1", "11.0.4.1"],
            "11.0.9.1",
            "4 hosts have joined from networks of AS64500 already",
        ),
        (["12.0.1.1", "12.0.2.1", "12.0.3.1", "12.0.4.1"], "12.0.9.1", None),  # whose it is is unknown
    ],
)
def test_hosts_that_join_are_counted_by_the_operator_of_their_networks(
    database: Database, before: list[str], address: str, reason: str | None
) -> None:
    joined(database, *before)
    with database.read() as connection:
        assert join_quota.refusal(connection, address, SETTINGS, Networks()) == reason
