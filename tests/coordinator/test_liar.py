"""A crawler that lies, among real hosts: found out, ended, and everything it brought taken out again."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest

from ipmicra.carrier.package import pack
from ipmicra.coordinator.admin.crawler_states import CrawlerState
from ipmicra.coordinator.leader.loop import FASTER_THAN_LIGHT
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import events, hosts
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.delegation.crawlers import GeoPosition
from ipmicra.delegation.evidence.light_bounds import FIBRE_KM_PER_ROUND_TRIP_MS
from ipmicra.testing.page_records import seen
from tests.coordinator.harness import CoordinatorHarness
from tests.coordinator.played_host import PlayedHost
from tests.coordinator.played_orders import take_all
from tests.coordinator.world import made_up_world

PLACES = {
    "cairo": (30.0, 31.2),
    "lima": (-12.0, -77.0),
    "oslo": (59.9, 10.8),
    "perth": (-32.0, 115.9),
    "tokyo": (35.7, 139.7),
}
LIAR = "lima"
DETOUR = 1.4  # routes are longer than the line between two places


# --- faster than light ----------------------------------------------------------------------------


@pytest.mark.parametrize("lies", [True, False])
def test_round_trips_faster_than_light_cost_a_crawler_its_standing(
    database: Database, tmp_path: Path, lies: bool
) -> None:
    settings = CoordinatorSettings(
        strategy="brute-force", probes_per_second_max=1000, mesh_refresh_seconds=1e6
    )
    stage = CoordinatorHarness(database, tmp_path, settings=settings)
    for number, (name, position) in enumerate(PLACES.items()):
        stage.join(name, f"198.18.{number}.1", position=position)
    others = sorted(PLACES.keys() - {LIAR})
    for number in range(32):
        near = others[number % len(others)]
        away_ms = {name: round_trip_ms(name, near) for name in PLACES}
        if lies:
            away_ms[LIAR] = 0.5
        stage.submit(f"{stage.site(f'https://s{number}.example', f'203.0.113.{number}', **away_ms)}/")
    stage.play(rounds=40)
    with stage.database.read() as connection:
        states = {name: host.state for name in PLACES if (host := hosts.host_named(connection, name))}
        told = [(e.subject, e.detail) for e in events.latest(connection, 100) if e.kind == "distrusted"]
    assert told == ([(LIAR, FASTER_THAN_LIGHT)] if lies else [])
    on_finished = {name for name, state in states.items() if state is HostState.REVOKED}
    assert on_finished == ({LIAR} if lies else set())


def round_trip_ms(one: str, other: str) -> float:
    distance_km = GeoPosition(*PLACES[one]).distance_km(GeoPosition(*PLACES[other]))
    return 1.0 + DETOUR * distance_km / FIBRE_KM_PER_ROUND_TRIP_MS


# --- pages that are not there ---------------------------------------------------------------------

SETTINGS = {
    "coordinator.compared_share": "1.0",
    "coordinator.leader_seconds": "3",
    "coordinator.strategy": '"brute-force"',
    "coordinator.mesh_refresh_seconds": "1000000",
}
WITNESSES = ("lima", "oslo", "rome")
LIES = "<p>" + " ".join(f"buy {number} of these pills today" for number in range(60)) + "</p>"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_crawler_that_alters_pages_is_found_out_and_purged_by_one_command(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'coordinator.sqlite'}"
    with made_up_world(tmp_path, database, sites=3, pages=6, settings=SETTINGS) as world:
        world.coordinator.start()
        liar = world.coordinator.registered("liar")
        for name in WITNESSES:
            world.join(name)
            world.start_host(name)
        world.until(lambda: {*map(world.crawler_state, WITNESSES)} == {CrawlerState.WORKING}, 60)
        world.coordinator.rows("submit", *world.roots)
        altered = sorted(world.urls)
        invented = [f"{root}invented" for root in world.roots]
        taken = take_all(liar, len(world.roots))
        assert set(taken) == {root.rstrip("/") for root in world.roots}
        now_ms = int(time.time() * 1000)
        false = [
            msgspec.structs.replace(seen(url, "Pills", LIES), fetched_at_ms=now_ms)
            for url in (*altered, *invented)
        ]
        assert liar.send_package(1, pack(false, "liar", 1)).status == 200
        world.until(lambda: set(world.integrated()) == {*altered, *invented}, 60)
        world.until(lambda: is_revoked(liar), 120)
        assert world.crawler_state("liar") == CrawlerState.KILLED
        assert set(invented) <= set(world.integrated()), "what it brought stays until it is purged"
        world.coordinator.rows("purge", "liar", "--why", "it alters pages", "--yes")
        world.until(lambda: set(world.integrated()) == world.urls, 120)
        assert not set(invented) & set(world.integrated())


def is_revoked(liar: PlayedHost) -> bool:
    """It goes on reporting as long as it is heard."""
    reply = liar.ask("POST", "/v1/host/orders?wait=0", "orders")
    if reply.status == 200:
        return False
    assert "revoked" in reply.refusal().reason
    return True
