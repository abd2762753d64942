"""Hosts that vanish and leaders that change, live: which sites move, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.store import events, packages, sites
from ipmicra.coordinator.store.hosts import HostRefused, HostState
from ipmicra.coordinator.store.packages import PackageArrival
from ipmicra.model.ids import LeaseEpoch
from tests.coordinator.harness import SETTINGS, CoordinatorHarness

# --- hosts that go --------------------------------------------------------------------------------


def test_a_silent_host_loses_its_sites_and_its_late_packages_are_refused(
    stage: CoordinatorHarness,
) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=40)
    stage.submit(f"{bread}/", f"{bread}/rye")
    stage.play()
    first = stage.owner(bread)
    assert first is not None
    second = "oslo" if first == "lima" else "lima"
    epoch, lease_epoch = stage.row(bread).epoch, stage.epochs[first]
    stage.dies(first)
    stage.play(rounds=16, step_s=5.0)
    assert stage.owner(bread) == second
    assert stage.row(bread).epoch > epoch
    assert stage.crawls[second] == {bread: {f"{bread}/", f"{bread}/rye"}}, "every link, once more"
    late = PackageArrival(first, 1, digest_of(b"late"), LeaseEpoch(lease_epoch), b"late")
    with pytest.raises(HostRefused, match="silent for too long"):
        packages.receive(stage.database, stage.store, late, stage.now_s)


def test_a_host_that_was_given_up_and_comes_back_begins_with_nothing(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=30)
    stage.submit(f"{bread}/")
    stage.play()
    said = stage.said["lima"]
    stage.dies("lima")
    stage.join("oslo", "198.18.0.2")
    stage.play(rounds=16, step_s=5.0)
    assert stage.owner(bread) == "oslo"
    stage.said["lima"] = said
    stage.report("lima")
    assert stage.crawls["lima"] == {}
    stage.play()
    assert stage.owner(bread) in stage.said


@pytest.mark.parametrize("away_s", [90, 600])
def test_a_coordinator_that_is_cut_off_takes_nothing_from_anybody(
    stage: CoordinatorHarness, away_s: int
) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=80)
    stage.submit(f"{bread}/")
    stage.play()
    epoch, epochs, said = stage.row(bread).epoch, dict(stage.epochs), dict(stage.said)
    stage.dies("lima")
    stage.dies("oslo")
    stage.play(rounds=away_s // 5, step_s=5.0)
    stage.said["oslo"] = said["oslo"]
    stage.play(rounds=10, step_s=5.0)
    stage.said["lima"] = said["lima"]
    stage.play(rounds=20, step_s=5.0)
    assert (stage.row(bread).epoch, stage.epochs) == (epoch, epochs), (
        "the later one had a lease to come back"
    )
    with stage.database.read() as connection:
        kinds = [event.kind for event in events.latest(connection, 10)]
    assert kinds[:2] == ["line-back", "line-cut"]


def test_who_does_not_come_back_with_the_others_is_missed_after_a_lease(
    stage: CoordinatorHarness,
) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=80)
    stage.submit(f"{bread}/")
    stage.play()
    oslo = stage.said["oslo"]
    stage.dies("lima")
    stage.dies("oslo")
    stage.play(rounds=40, step_s=5.0)
    assert stage.owner(bread) == "lima"
    stage.said["oslo"] = oslo
    stage.play(rounds=16, step_s=5.0)
    assert stage.crawls["oslo"] == {bread: {f"{bread}/"}}


@pytest.mark.parametrize("state", [HostState.REVOKED, HostState.LEFT])
def test_what_a_host_leaves_behind_goes_to_others_at_once(
    stage: CoordinatorHarness, state: HostState
) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=30)
    stage.submit(f"{bread}/")
    stage.play()
    stage.join("oslo", "198.18.0.2")
    stage.ends("lima", state)
    stage.play()
    assert stage.crawls["oslo"] == {bread: {f"{bread}/"}}


# --- leaders --------------------------------------------------------------------------------------


def test_another_replica_goes_on_where_a_silent_leader_stopped(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    cake = stage.site("https://cake.example", "198.51.100.9", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    first, second = stage.delegator, stage.replica("second")
    assert not second.tick(stage.now_s)
    stage.now_s += SETTINGS.leader_seconds + 1
    stage.report("lima")
    stage.submit(f"{cake}/")
    probes = len(stage.probed)
    stage.delegator = second
    stage.play()
    assert stage.owner(cake) == "lima"
    assert len(stage.probed) == probes, "the rows know whose the subnet is"
    assert not first.tick(stage.now_s), "it slept through its lease and leads no more"
    assert not first.is_leader


def test_a_coordinator_that_was_away_holds_nobody_silent_for_that_time(
    stage: CoordinatorHarness,
) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    epoch, lease_epoch = stage.row(bread).epoch, stage.epochs["lima"]
    stage.now_s += 86_400
    stage.delegator = stage.replica("after a day")
    stage.delegator.tick(stage.now_s)
    stage.play()
    assert (stage.row(bread).epoch, stage.epochs["lima"]) == (epoch, lease_epoch)


def test_a_leader_that_lays_down_is_followed_at_once(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    stage.play(rounds=2)
    stage.delegator.resign(stage.now_s)
    assert stage.replica("second").tick(stage.now_s)


def test_what_was_asked_when_the_leader_died_is_asked_again(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.delegator.tick(stage.now_s)
    assert stage.delegator.state is not None
    assert len(stage.delegator.state.dispatcher) == 1
    stage.now_s += SETTINGS.leader_seconds + 1
    stage.report("lima")
    stage.delegator = stage.replica("second")
    stage.play()
    assert stage.crawls["lima"] == {bread: {f"{bread}/"}}


def test_counts_tell_how_things_stand(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/", "https://nowhere.example/")
    stage.play()
    with stage.database.read() as connection:
        assert sites.counts(connection) == {"delegated": 1, "unreachable": 1}
        assert sites.counts_by_crawler(connection) == {"lima": 1}
