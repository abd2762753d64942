"""One machine, or one rack, does not become a crowd of hosts."""

from __future__ import annotations

import pytest

from ipmicra.coordinator.admin import join_quota
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import hosts
from ipmicra.coordinator.store.sql.database import Database

NOW = 1_800_000_000.0
SETTINGS = CoordinatorSettings(hosts_per_address_max=2, hosts_per_network_max=3)


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
        assert join_quota.refusal(connection, address, SETTINGS) == reason


def test_a_host_that_has_left_makes_room(database: Database) -> None:
    joined(database, "8.8.8.8", "8.8.8.8")
    with database.begin() as connection:
        hosts.end_host(connection, "host-0", hosts.HostState.LEFT)
        assert join_quota.refusal(connection, "8.8.8.8", SETTINGS) is None
