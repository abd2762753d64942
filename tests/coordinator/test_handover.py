"""What moves from one crawler to another, live, and what goes with it, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter

import pytest

from ipmicra.coordinator.store import handovers, traffic
from ipmicra.coordinator.store.hosts import HostRefused
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.model.ids import SiteEpoch
from tests.coordinator.harness import SETTINGS, CoordinatorHarness


def test_a_subnet_that_got_slower_moves_warm(stage: CoordinatorHarness) -> None:
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


def test_a_few_slow_fetches_move_nothing(stage: CoordinatorHarness) -> None:
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


@pytest.mark.parametrize("unmeasured", [None, 0.0])  # 0.0: as hosts of version 0.1.0 write it
def test_fetches_that_did_not_connect_are_no_round_trips(
    stage: CoordinatorHarness, unmeasured: float | None
) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=60)
    stage.submit(f"{bread}/")
    stage.play()
    probes = len(stage.probed)
    for round_trip_ms in (unmeasured, unmeasured, 20, 25, 20, 25, 20):
        stage.fetches("lima", bread, round_trip_ms)
        stage.play(rounds=2)
    assert len(stage.probed) == probes, "25 ms is ordinary, and no reason to probe again"
    with stage.database.read() as connection:
        (carried,) = traffic.site_traffic(connection)
    assert carried.byte_ms / carried.body_bytes == 22.0, "the mean of what was measured"


def test_a_site_whose_crawler_does_not_let_go_moves_without_its_state(stage: CoordinatorHarness) -> None:
    stage.join("oslo", "198.18.0.2")
    mine = stage.site("https://mine.example", "192.0.2.80", oslo=10)
    stage.submit(f"{mine}/")
    stage.play()
    stage.deaf.add("oslo")
    stage.join("lima", "192.0.2.10")
    stage.play(rounds=3)
    assert stage.row(mine).state is SiteStatus.RELEASING
    stage.crawls["oslo"] = {}
    stage.play(rounds=4, step_s=30)
    assert stage.owner(mine) == "oslo", "there is still patience"
    stage.play(rounds=25, step_s=30)
    assert stage.owner(mine) == "lima"
    assert stage.crawls["lima"] == {mine: {f"{mine}/"}}
    assert stage.warm == []


def test_a_state_is_taken_from_the_owner_and_given_to_the_next_only(stage: CoordinatorHarness) -> None:
    stage.join("lima")
    stage.join("oslo", "198.18.0.2")
    bread = stage.site("https://bread.example", "198.51.100.7", lima=20, oslo=60)
    stage.submit(f"{bread}/")
    stage.play()
    epoch = stage.row(bread).epoch
    owner, other = ("lima", "oslo") if stage.owner(bread) == "lima" else ("oslo", "lima")
    for host, wrong_epoch in ((other, epoch), (owner, SiteEpoch(epoch + 1))):
        with pytest.raises(HostRefused, match="is not"):
            handovers.save_state(
                stage.database, stage.store, host, bread, wrong_epoch, b"x", stage.now_s
            )
    handovers.save_state(stage.database, stage.store, owner, bread, epoch, b"x", stage.now_s)
    with pytest.raises(HostRefused, match="is not"):
        handovers.fetch_state(stage.database, stage.store, other, bread)
    assert handovers.fetch_state(stage.database, stage.store, owner, bread) is None, (
        "for the next, not for it"
    )


def test_a_crawler_over_its_daily_capacity_gives_up_a_subnet(stage: CoordinatorHarness) -> None:
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


def test_a_newcomer_takes_what_it_is_nearer_to(stage: CoordinatorHarness) -> None:
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
