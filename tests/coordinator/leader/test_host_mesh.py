"""How far hosts are from each other, and what a leader leaves to the next, on both databases."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ipmicra.coordinator.leader.loop import LeaderState
from ipmicra.coordinator.store import blobs
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.views import explanation
from ipmicra.delegation.decision import IN_WORDS, Why
from ipmicra.delegation.strategies.adaptive.strategy import Adaptive
from ipmicra.model.ids import CrawlerId
from tests.coordinator.harness import SETTINGS, CoordinatorHarness

OSLO, LIMA, ROME = "192.0.2.1", "198.51.100.1", "203.0.113.1"
ADAPTIVE = msgspec.structs.replace(
    SETTINGS, strategy="adaptive", lease_seconds=100_000, leader_seconds=50_000
)


@pytest.fixture
def stage(database: Database, tmp_path: Path) -> CoordinatorHarness:
    return CoordinatorHarness(database, tmp_path, settings=ADAPTIVE)


def state(stage: CoordinatorHarness) -> LeaderState:
    found = stage.delegator.state
    assert found is not None
    return found


def between(stage: CoordinatorHarness, one: str, other: str) -> float | None:
    return state(stage).strategy.crawlers.mutual_ms(CrawlerId(one), CrawlerId(other))


def test_hosts_that_answer_for_their_addresses_are_measured_once_in_a_refresh(
    stage: CoordinatorHarness,
) -> None:
    stage.round_trips_ms = {("lima", OSLO): 200.0, ("oslo", ROME): 40.0, ("lima", ROME): 190.0}
    for name, address in (("oslo", OSLO), ("lima", LIMA), ("rome", ROME)):
        stage.join(name, address)
    stage.play(rounds=30)
    assert between(stage, "oslo", "lima") == 200.0
    assert between(stage, "rome", "oslo") == 40.0
    assert between(stage, "rome", "lima") == 190.0
    asked = sorted(stage.met)
    assert asked == [("lima", "host:oslo"), ("lima", "host:rome"), ("oslo", "host:rome")]
    stage.play(rounds=12, step_s=ADAPTIVE.mesh_refresh_seconds / 10)
    assert sorted(stage.met) == sorted(asked * 2), "and again when the refresh has come"


def test_where_one_hears_nothing_the_other_asks_and_silence_is_not_asked_for_ever(
    stage: CoordinatorHarness,
) -> None:
    stage.round_trips_ms = {("oslo", LIMA): 210.0}
    stage.join("oslo", OSLO)
    stage.join("lima", LIMA)
    stage.join("rome", ROME)
    stage.play(rounds=120)
    assert between(stage, "oslo", "lima") == 210.0
    assert between(stage, "oslo", "rome") is None
    assert stage.met.count(("lima", "host:oslo")) == 1
    assert stage.met.count(("oslo", "host:rome")) == stage.met.count(("rome", "host:oslo")) == 1


def test_a_site_next_to_a_silent_host_stands_for_it(stage: CoordinatorHarness) -> None:
    stage.join("oslo", OSLO)
    bread = stage.site("https://bread.example", "192.0.2.80", oslo=2.0, lima=205.0)
    stage.submit(f"{bread}/")
    stage.play(rounds=5)
    stage.join("lima", LIMA)
    stage.play(rounds=40)
    assert between(stage, "lima", "oslo") == 205.0


def test_hosts_behind_one_address_are_next_door(stage: CoordinatorHarness) -> None:
    stage.join("oslo", OSLO)
    stage.join("olso-too", OSLO)
    stage.play(rounds=30)
    assert between(stage, "oslo", "olso-too") == 1.0
    assert stage.met == []


def test_sleepers_are_not_asked_and_are_asked_about(stage: CoordinatorHarness) -> None:
    stage.round_trips_ms = {("oslo", LIMA): 210.0}
    stage.join("oslo", OSLO)
    stage.join("lima", LIMA, awake=False)
    stage.play(rounds=40)
    assert stage.met == [("oslo", "host:lima")]
    assert between(stage, "oslo", "lima") == 210.0


def test_the_number_of_partners_of_a_host_is_limited(database: Database, tmp_path: Path) -> None:
    few = msgspec.structs.replace(ADAPTIVE, mesh_partners_max=4)
    stage = CoordinatorHarness(database, tmp_path, settings=few)
    names = [f"host-{number}" for number in range(12)]
    for number, name in enumerate(names):
        address = f"198.51.100.{number + 1}"
        stage.join(name, address)
        stage.round_trips_ms |= {(other, address): 10.0 + number for other in names}
    stage.play(rounds=60)
    partners = {name: {a for a, b in stage.met if b == f"host:{name}"} for name in names}
    for prober, asked in stage.met:
        partners[prober].add(asked.removeprefix("host:"))
    assert {len(found) for found in partners.values()} == {4}


# --- what outlives a leader -----------------------------------------------------------------------


def test_the_next_leader_knows_what_the_last_one_learnt(stage: CoordinatorHarness) -> None:
    stage.round_trips_ms = {("lima", OSLO): 200.0}
    stage.join("oslo", OSLO)
    stage.join("lima", LIMA, capacity_bytes_a_day=1_000_000)
    names = [
        stage.site(f"https://s{number}.example", f"198.18.{number}.7", oslo=10.0 + number, lima=190.0)
        for number in range(5)
    ]
    stage.submit(*(f"{name}/" for name in names))
    stage.play(rounds=40)
    for name in names:
        stage.fetches("oslo", name, 11.0, body_bytes=5_000)
    stage.play(rounds=3)
    first = state(stage)
    assert isinstance(first.strategy, Adaptive)
    learnt, loads = first.strategy.to_state(), first.recalibrator.loads()
    histories = first.recalibrator.histories()
    assert len(learnt.sites) == len(loads.units) == len(histories) == len(names)
    stage.delegator.resign(stage.now_s)
    stage.delegator = stage.replica("second")
    stage.play(rounds=1)
    second = state(stage)
    assert isinstance(second.strategy, Adaptive)
    again = second.strategy.to_state()
    assert [site.address for site in again.sites] == [site.address for site in learnt.sites]
    assert again.ties_right == learnt.ties_right
    assert second.recalibrator.loads() == loads
    assert second.recalibrator.histories() == histories
    assert second.strategy.crawlers.fullness(CrawlerId("oslo")) == 0.0, "it has no limit"
    assert between(stage, "lima", "oslo") == 200.0
    asked = len(stage.met)
    stage.play(rounds=30)
    assert len(stage.met) == asked, "nobody is asked again what is known"


def test_a_memory_that_cannot_be_read_is_left_out(stage: CoordinatorHarness) -> None:
    stage.join("oslo", OSLO)
    stage.play(rounds=2)
    stage.delegator.resign(stage.now_s)
    with stage.database.begin() as connection:
        for name in ("hosts", "loads", "histories", "strategy"):
            blobs.save(connection, name, b"scribble", stage.now_s)
    stage.delegator = stage.replica("second")
    stage.play(rounds=1)
    assert state(stage).strategy.crawlers.all == ("oslo",)


def test_what_is_in_many_places_is_recognised_and_never_moved_for_latency(
    database: Database, tmp_path: Path
) -> None:
    """Without positions: by the hosts' own round trip to each other. The next leader knows it too."""
    stage = CoordinatorHarness(
        database, tmp_path, settings=msgspec.structs.replace(ADAPTIVE, strategy="first-fit@1")
    )
    stage.round_trips_ms = {("lima", OSLO): 200.0}
    stage.join("oslo", OSLO)
    stage.join("lima", LIMA)
    stage.play(rounds=30)
    names = [
        stage.site(f"https://cdn{number}.example", f"198.18.{number}.9", oslo=5.0, lima=6.0)
        for number in range(4)
    ]
    for name in names:
        stage.submit(f"{name}/")
        stage.play(rounds=8)
    owners = [stage.owner(name) for name in names]
    assert sorted(map(str, owners)) == ["lima", "lima", "oslo", "oslo"], "to the lighter of those near"
    with stage.database.read() as connection:
        told = explanation.nearest(connection, names[0])
    assert told.why == IN_WORDS[Why.ANYCAST]
    stage.delegator.resign(stage.now_s)
    stage.delegator = stage.replica("second")
    probes = len(stage.probed)
    for slow_ms in (6.0, *[500.0] * 5):
        stage.fetches(str(owners[0]), names[0], slow_ms)
        stage.play(rounds=2)
    assert [stage.owner(name) for name in names] == owners
    assert len(stage.probed) == probes
