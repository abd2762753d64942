"""What the operator decides about hosts, on both databases: by functions that commands and pages share."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.coordinator.admin import commands
from ipmicra.coordinator.store import events, hosts, orders
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.views.status import host_statuses
from ipmicra.errors import OperatorFault
from tests.coordinator.harness import CoordinatorHarness

NOW = 1_800_000_000.0


@pytest.fixture
def stage(database: Database, tmp_path: Path) -> CoordinatorHarness:
    return CoordinatorHarness(database, tmp_path)


def test_a_registered_host_gets_a_token_that_enrols_it(database: Database) -> None:
    with database.begin() as connection:
        token = commands.register(connection, "lima", NOW, 60, "owner@example.org")
        assert hosts.enrol(connection, token, bytes(32), "192.0.2.1", NOW + 1) == "lima"
        assert [event.kind for event in events.latest(connection, 5)] == ["host-registered"]


def test_a_join_token_can_be_typed_after_any_command(database: Database) -> None:
    with database.begin() as connection:
        tokens = {commands.register(connection, f"host-{number}", NOW, 3600) for number in range(150)}
    assert all(token.isalnum() for token in tokens), "one that begins with a dash is taken for an option"


@pytest.mark.parametrize("name", ["", "Lima", "li ma", "-lima", "x" * 64, "lima\n"])
def test_a_name_that_is_none_is_the_operators_fault(database: Database, name: str) -> None:
    with pytest.raises(OperatorFault, match="a host's name"), database.begin() as connection:
        commands.register(connection, name, NOW, 60)


def test_a_paused_host_keeps_its_sites_and_gets_no_others_until_it_is_resumed(
    stage: CoordinatorHarness,
) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    cake = stage.site("https://cake.example", "203.0.113.7", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    with stage.database.begin() as connection:
        commands.pause(connection, "lima", "too many probes", stage.now_s)
    stage.play(rounds=2)
    stage.submit(f"{cake}/")
    stage.play()
    assert (stage.owner(bread), stage.owner(cake)) == ("lima", None)
    with stage.database.begin() as connection:
        commands.resume(connection, "lima", stage.now_s)
    stage.play()
    assert stage.owner(cake) == "lima"


def test_of_a_pause_and_a_resume_the_later_one_counts(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    with stage.database.begin() as connection:
        first = commands.pause(connection, "lima", "", stage.now_s)
        assert commands.pause(connection, "lima", "", stage.now_s) == first, "it is told once"
        last = commands.resume(connection, "lima", stage.now_s)
        open_now = orders.open_orders(connection, "lima", stage.now_s)
    assert [order.number for order in open_now] == [last]


def test_a_retired_host_hands_its_sites_over_warm_and_is_heard_no_more(
    stage: CoordinatorHarness,
) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=90)
    stage.submit(f"{bread}/")
    stage.play()
    stage.join("oslo", "198.18.0.2")
    with stage.database.begin() as connection:
        commands.retire(connection, "lima", "the study is over", stage.now_s)
    stage.play()
    assert stage.owner(bread) == "oslo"
    assert stage.warm == [("oslo", bread, f"lima's state of {bread}".encode())]
    with stage.database.begin() as connection:
        standing = {host.name: host.state for host in host_statuses(connection, stage.now_s)}
        assert standing == {"lima": HostState.RETIRED, "oslo": HostState.ENROLLED}
        with pytest.raises(OperatorFault, match="is retired"):
            commands.pause(connection, "lima", "", stage.now_s)
        with pytest.raises(OperatorFault, match="no host 'rome'"):
            commands.resume(connection, "rome", stage.now_s)
