"""Delegation live: the leader, its rows and obedient hosts, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator import events, handovers, packages, sites
from ipmicra.coordinator.delegating.memory import delegated
from ipmicra.coordinator.hosts import HostState, Refused
from ipmicra.coordinator.packages import Arrival
from ipmicra.coordinator.sites import SiteState
from ipmicra.coordinator.state.database import Database
from tests.coordinator.stage import SETTINGS, START_S, Stage
from tests.delegation.worlds import tree_of

TREE = tree_of(
    ("198.51.100.0/24", "Bakers"),
    ("203.0.113.0/24", "Clockmakers"),
    ("192.0.2.0/24", "Lima's own"),
)


@pytest.fixture
def stage(database: Database, tmp_path: Path) -> Stage:
    return Stage(database, tmp_path, TREE)


# --- who gets what --------------------------------------------------------------------------------


def test_a_site_goes_to_the_nearest_and_its_subnet_with_it(stage: Stage) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=80, oslo=20)
    cake = stage.site("https://cake.example", "198.51.100.9", lima=80, oslo=20)
    stage.submit(f"{bread}/", f"{bread}/rye")
    stage.play()
    assert stage.crawls == {"lima": {}, "oslo": {bread: {f"{bread}/", f"{bread}/rye"}}}
    probes = len(stage.probed)
    stage.submit(f"{cake}/")
    stage.play()
    assert stage.owner(cake) == "oslo"
    assert len(stage.probed) == probes, "the subnet was delegated already"
    assert stage.row(cake).ground == "198.51.100.0/24"


def test_links_that_come_later_go_to_the_sites_crawler_once(stage: Stage) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    stage.submit(f"{bread}/", f"{bread}/new")
    stage.play()
    assert stage.crawls["lima"][bread] == {f"{bread}/", f"{bread}/new"}
    assert stage.row(bread).epoch == 1


def test_a_hosts_own_subnet_is_its_own_from_the_start(stage: Stage) -> None:
    stage.join("oslo", "198.18.0.2")
    mine = stage.site("https://mine.example", "192.0.2.80", lima=300, oslo=1)
    stage.join("lima", "192.0.2.10")
    stage.submit(f"{mine}/")
    stage.play()
    assert stage.owner(mine) == "lima"
    assert stage.probed == []
    with stage.database.read() as connection:
        assert delegated(connection, ["192.0.2.0/24"])["192.0.2.0/24"].reasons.why == "own-subnet"


def test_an_own_subnet_that_another_has_is_handed_over(stage: Stage) -> None:
    stage.join("oslo", "198.18.0.2")
    mine = stage.site("https://mine.example", "192.0.2.80", oslo=10)
    stage.submit(f"{mine}/")
    stage.play()
    assert stage.owner(mine) == "oslo"
    stage.join("lima", "192.0.2.10")
    stage.play()
    assert stage.owner(mine) == "lima"
    assert stage.warm == [("lima", mine, f"oslo's state of {mine}".encode())]


def test_without_a_tree_every_address_stands_for_itself(database: Database, tmp_path: Path) -> None:
    stage = Stage(database, tmp_path)
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    assert (stage.owner(bread), stage.row(bread).ground) == ("lima", "198.51.100.7")


def test_adaptive_delegates_live_too(database: Database, tmp_path: Path) -> None:
    stage = Stage(database, tmp_path, TREE, msgspec.structs.replace(SETTINGS, strategy="adaptive"))
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=180, oslo=20)
    stage.submit(f"{bread}/")
    stage.play()
    assert stage.owner(bread) == "oslo"


def test_a_name_on_many_addresses_stays_at_the_one_that_was_probed(stage: Stage) -> None:
    stage.join("lima")
    many = stage.site("https://many.example", "203.0.113.9", "198.51.100.7", lima=20)
    stage.submit(f"{many}/")
    stage.play()
    assert {address for _, address in stage.probed} == {"198.51.100.7"}
    assert stage.row(many).address == "198.51.100.7"
    stage.site(many, "203.0.113.9", "192.0.2.1", "198.51.100.7", lima=20)
    stage.dies("lima")
    stage.join("oslo", "198.18.0.2")
    stage.play(rounds=3, step_s=61)
    assert stage.row(many).address == "198.51.100.7"


def test_what_nobody_reaches_is_noted_and_looked_at_again_later(stage: Stage) -> None:
    stage.join("lima")
    mute = stage.site("https://mute.example", "198.51.100.7")
    stage.submit(f"{mute}/", "https://nowhere.example/")
    stage.play()
    assert stage.row(mute).state is SiteState.UNREACHABLE
    assert stage.row("https://nowhere.example").note == "no such name"
    probes = len(stage.probed)
    stage.play()
    assert len(stage.probed) == probes
    stage.site(mute, "198.51.100.7", lima=20)
    stage.now_s += SETTINGS.retry_seconds
    stage.report("lima")
    stage.play()
    assert stage.owner(mute) == "lima"


def test_an_owners_own_site_is_crawled_from_there_unless_another_has_it(stage: Stage) -> None:
    stage.join("oslo", "198.18.0.2")
    taken = stage.site("https://taken.example", "198.51.100.7", oslo=20)
    stage.submit(f"{taken}/")
    stage.play()
    stage.join("lima", own_sites=["https://mine.example", "https://taken.example/", "no url"])
    stage.play()
    assert stage.owner("https://mine.example") == "lima"
    assert stage.crawls["lima"] == {"https://mine.example": {"https://mine.example/"}}
    assert stage.owner(taken) == "oslo"
    assert stage.row("https://mine.example").epoch == 1, "asked for in every report, given once"


# --- hours and caps -------------------------------------------------------------------------------


def test_nobody_is_asked_or_given_anything_outside_of_their_hours(stage: Stage) -> None:
    stage.join("lima", awake=False)
    stage.join("oslo", "198.18.0.2", awake_until_ms=int((START_S + 30) * 1000))
    first = stage.site("https://first.example", "198.51.100.7", lima=1, oslo=90)
    stage.submit(f"{first}/")
    stage.play(rounds=10)
    assert stage.owner(first) == "oslo"
    assert {host for host, _ in stage.probed} == {"oslo"}
    stage.now_s = START_S + 31
    second = stage.site("https://second.example", "203.0.113.7", lima=1, oslo=90)
    stage.submit(f"{second}/")
    stage.play(rounds=10)
    assert stage.owner(second) is None
    assert ("oslo", "203.0.113.7") not in stage.probed
    stage.said["lima"]["awake"] = True
    stage.play(rounds=10)
    assert stage.owner(second) == "lima"


def test_an_address_gets_no_more_probes_an_hour_than_the_cap(database: Database, tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, strategy="brute-force", probes_per_target_an_hour_max=3)
    stage = Stage(database, tmp_path, TREE, settings)
    for number in range(6):
        stage.join(f"host-{number}", f"198.18.0.{number}")
    busy = stage.site(
        "https://busy.example", "198.51.100.7", **{f"host-{n}": 50.0 - n for n in range(6)}
    )
    stage.submit(f"{busy}/")
    stage.play(rounds=20)
    assert len(stage.probed) == 3
    assert stage.owner(busy) == "host-2", "the nearest of those that could be asked"


def test_all_hosts_together_probe_no_faster_than_the_cap(database: Database, tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, probes_per_second_max=2.0)
    stage = Stage(database, tmp_path, None, settings)
    stage.join("lima")
    for number in range(20):
        name = stage.site(f"https://s{number}.example", f"198.51.100.{number}", lima=10)
        stage.submit(f"{name}/")
    stage.play(rounds=4)
    assert 2 <= len(stage.probed) <= 2 + 2 * 4
    stage.play(rounds=12)
    assert len(stage.probed) == 20


def test_a_probe_that_is_not_answered_in_time_is_taken_back(stage: Stage) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    stage.deaf.add("oslo")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=80, oslo=20)
    stage.submit(f"{bread}/")
    stage.play(rounds=20, step_s=2.0)
    assert stage.owner(bread) == "lima"


# --- hosts that go --------------------------------------------------------------------------------


def test_a_silent_host_loses_its_sites_and_its_late_packages_are_refused(stage: Stage) -> None:
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
    late = Arrival(first, 1, digest_of(b"late"), lease_epoch, b"late")
    with pytest.raises(Refused, match="silent for too long"):
        packages.receive(stage.database, stage.store, late, stage.now_s)


def test_a_host_that_was_given_up_and_comes_back_begins_with_nothing(stage: Stage) -> None:
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
def test_a_coordinator_that_is_cut_off_takes_nothing_from_anybody(stage: Stage, away_s: int) -> None:
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


def test_who_does_not_come_back_with_the_others_is_missed_after_a_lease(stage: Stage) -> None:
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
def test_what_a_host_leaves_behind_goes_to_others_at_once(stage: Stage, state: HostState) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=30)
    stage.submit(f"{bread}/")
    stage.play()
    stage.join("oslo", "198.18.0.2")
    stage.ends("lima", state)
    stage.play()
    assert stage.crawls["oslo"] == {bread: {f"{bread}/"}}


# --- what moves -----------------------------------------------------------------------------------


def test_a_subnet_that_got_slower_moves_warm(stage: Stage) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=30)
    stage.submit(f"{bread}/")
    stage.play()
    stage.join("oslo", "198.18.0.2")
    stage.play()
    assert stage.owner(bread) == "lima"
    stage.fetches("lima", bread, 20)
    stage.round_trips_ms["lima", "198.51.100.7"] = 200
    for _ in range(SETTINGS.calibration_repeats):
        stage.fetches("lima", bread, 200)
    stage.play()
    assert stage.owner(bread) == "oslo"
    assert stage.warm == [("oslo", bread, f"lima's state of {bread}".encode())]
    with stage.database.read() as connection:
        gone = connection.exec_driver_sql("SELECT count(*) FROM handover").scalar()
    assert gone == 0, "taken, so not kept"


def test_a_few_slow_fetches_move_nothing(stage: Stage) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=60)
    stage.submit(f"{bread}/")
    stage.play()
    probes = len(stage.probed)
    for round_trip_ms in (20, 200, 200, 20, 200, 200, 20):
        stage.fetches("lima", bread, round_trip_ms)
        stage.play(rounds=2)
    assert stage.owner(bread) == "lima"
    assert len(stage.probed) == probes


def test_a_site_whose_crawler_does_not_let_go_moves_without_its_state(stage: Stage) -> None:
    stage.join("oslo", "198.18.0.2")
    mine = stage.site("https://mine.example", "192.0.2.80", oslo=10)
    stage.submit(f"{mine}/")
    stage.play()
    stage.deaf.add("oslo")
    stage.join("lima", "192.0.2.10")
    stage.play(rounds=3)
    assert stage.row(mine).state is SiteState.RELEASING
    stage.crawls["oslo"] = {}
    stage.play(rounds=4, step_s=30)
    assert stage.owner(mine) == "oslo", "there is still patience"
    stage.play(rounds=25, step_s=30)
    assert stage.owner(mine) == "lima"
    assert stage.crawls["lima"] == {mine: {f"{mine}/"}}
    assert stage.warm == []


def test_a_state_is_taken_from_the_owner_and_given_to_the_next_only(stage: Stage) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=60)
    stage.submit(f"{bread}/")
    stage.play()
    epoch = stage.row(bread).epoch
    owner, other = ("lima", "oslo") if stage.owner(bread) == "lima" else ("oslo", "lima")
    for host, wrong_epoch in ((other, epoch), (owner, epoch + 1)):
        with pytest.raises(Refused, match="is not"):
            handovers.leave(stage.database, stage.store, host, bread, wrong_epoch, b"x", stage.now_s)
    handovers.leave(stage.database, stage.store, owner, bread, epoch, b"x", stage.now_s)
    with pytest.raises(Refused, match="is not"):
        handovers.fetch(stage.database, stage.store, other, bread)
    assert handovers.fetch(stage.database, stage.store, owner, bread) is None, "for the next, not for it"


def test_a_crawler_over_its_daily_capacity_gives_up_a_subnet(stage: Stage) -> None:
    stage.join("lima", capacity_bytes_a_day=10_000)
    stage.join("oslo", "198.18.0.2", capacity_bytes_a_day=100_000)
    names = [
        stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=160),
        stage.site("https://clock.example", "203.0.113.7", lima=20, oslo=170),
    ]
    stage.submit(*(f"{name}/" for name in names))
    stage.play(rounds=20)
    assert {stage.owner(name) for name in names} == {"lima"}
    for name in names:
        stage.fetches("lima", name, 20, body_bytes=8_000)
    stage.now_s += SETTINGS.balancing_seconds
    for host in ("lima", "oslo"):
        stage.report(host)
    stage.play(rounds=20)
    assert Counter(stage.owner(name) for name in names) == {"lima": 1, "oslo": 1}
    assert len(stage.warm) == 1


def test_a_newcomer_takes_what_it_is_nearer_to(stage: Stage) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=200, oslo=10)
    clock = stage.site("https://clock.example", "203.0.113.7", lima=20, oslo=200)
    stage.submit(f"{bread}/", f"{clock}/")
    stage.play()
    for name, round_trip_ms in ((bread, 200.0), (clock, 20.0)):
        stage.fetches("lima", name, round_trip_ms)
    stage.play(rounds=2)
    stage.join("oslo", "198.18.0.2")
    stage.play()
    assert (stage.owner(bread), stage.owner(clock)) == ("oslo", "lima")


# --- leaders --------------------------------------------------------------------------------------


def test_another_replica_goes_on_where_a_silent_leader_stopped(stage: Stage) -> None:
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
    assert not first.leads


def test_a_coordinator_that_was_away_holds_nobody_silent_for_that_time(stage: Stage) -> None:
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


def test_a_leader_that_lays_down_is_followed_at_once(stage: Stage) -> None:
    stage.join("lima")
    stage.play(rounds=2)
    stage.delegator.lay_down(stage.now_s)
    assert stage.replica("second").tick(stage.now_s)


def test_what_was_asked_when_the_leader_died_is_asked_again(stage: Stage) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.delegator.tick(stage.now_s)
    assert stage.delegator.desk is not None
    assert len(stage.delegator.desk.talks) == 1
    stage.now_s += SETTINGS.leader_seconds + 1
    stage.report("lima")
    stage.delegator = stage.replica("second")
    stage.play()
    assert stage.crawls["lima"] == {bread: {f"{bread}/"}}


def test_counts_tell_how_things_stand(stage: Stage) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/", "https://nowhere.example/")
    stage.play()
    with stage.database.read() as connection:
        assert sites.counts(connection) == {"delegated": 1, "unreachable": 1}
        assert sites.counts_by_crawler(connection) == {"lima": 1}
