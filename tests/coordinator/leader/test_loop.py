"""Delegation live: the leader, its rows and obedient hosts, on SQLite and on PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ipmicra.coordinator.store.delegations import delegation_rows
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql.database import Database
from tests.coordinator.harness import SETTINGS, START_S, TREE, CoordinatorHarness

# --- who gets what --------------------------------------------------------------------------------


def test_a_site_goes_to_the_nearest_and_its_subnet_with_it(stage: CoordinatorHarness) -> None:
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
    assert stage.row(cake).unit == "198.51.100.0/24"


def test_links_that_come_later_go_to_the_sites_crawler_once(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    stage.submit(f"{bread}/", f"{bread}/new")
    stage.play()
    assert stage.crawls["lima"][bread] == {f"{bread}/", f"{bread}/new"}
    assert stage.row(bread).epoch == 1


def test_a_hosts_own_subnet_is_its_own_from_the_start(stage: CoordinatorHarness) -> None:
    stage.join("oslo", "198.18.0.2")
    mine = stage.site("https://mine.example", "192.0.2.80", lima=300, oslo=1)
    stage.join("lima", "192.0.2.10")
    stage.submit(f"{mine}/")
    stage.play()
    assert stage.owner(mine) == "lima"
    assert stage.probed == []
    with stage.database.read() as connection:
        assert delegation_rows(connection, ["192.0.2.0/24"])["192.0.2.0/24"].reasons.why == "own-subnet"


def test_an_own_subnet_that_another_has_is_handed_over(stage: CoordinatorHarness) -> None:
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
    stage = CoordinatorHarness(database, tmp_path)
    stage.join("lima")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20)
    stage.submit(f"{bread}/")
    stage.play()
    assert (stage.owner(bread), stage.row(bread).unit) == ("lima", "198.51.100.7")


def test_adaptive_delegates_live_too(database: Database, tmp_path: Path) -> None:
    stage = CoordinatorHarness(
        database, tmp_path, TREE, msgspec.structs.replace(SETTINGS, strategy="adaptive")
    )
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=180, oslo=20)
    stage.submit(f"{bread}/")
    stage.play()
    assert stage.owner(bread) == "oslo"


def test_a_name_on_many_addresses_stays_at_the_one_that_was_probed(stage: CoordinatorHarness) -> None:
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


def test_what_nobody_reaches_is_noted_and_looked_at_again_later(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    mute = stage.site("https://mute.example", "198.51.100.7")
    stage.submit(f"{mute}/", "https://nowhere.example/")
    stage.play()
    assert stage.row(mute).state is SiteStatus.UNREACHABLE
    assert stage.row("https://nowhere.example").note == "no such name"
    probes = len(stage.probed)
    stage.play()
    assert len(stage.probed) == probes
    stage.site(mute, "198.51.100.7", lima=20)
    stage.now_s += SETTINGS.retry_seconds
    stage.report("lima")
    stage.play()
    assert stage.owner(mute) == "lima"


def test_an_owners_own_site_is_crawled_from_there_unless_another_has_it(
    stage: CoordinatorHarness,
) -> None:
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


def test_nobody_is_asked_or_given_anything_outside_of_their_hours(stage: CoordinatorHarness) -> None:
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
    stage = CoordinatorHarness(database, tmp_path, TREE, settings)
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
    stage = CoordinatorHarness(database, tmp_path, None, settings)
    stage.join("lima")
    for number in range(20):
        name = stage.site(f"https://s{number}.example", f"198.51.100.{number}", lima=10)
        stage.submit(f"{name}/")
    stage.play(rounds=4)
    assert 2 <= len(stage.probed) <= 2 + 2 * 4
    stage.play(rounds=12)
    assert len(stage.probed) == 20


def test_a_probe_that_is_not_answered_in_time_is_taken_back(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    stage.deaf.add("oslo")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=80, oslo=20)
    stage.submit(f"{bread}/")
    stage.play(rounds=20, step_s=2.0)
    assert stage.owner(bread) == "lima"
