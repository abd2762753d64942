"""The bad day: all that can go wrong goes wrong, and every page is integrated once in effect.

`IPMICRA_STRIKES=200` makes a long one of it. No host works outside of its hours: the sites' own log shows
it. The same day is played with crawlers in the host's process, and with crawlers in sandboxes.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.coordinator.chaos import LEASE_S, Chaos
from tests.coordinator.chaos_in_sandboxes import SandboxedChaos
from tests.coordinator.world import World, made_up_world
from tests.system_parts import needed

STRIKES = int(os.environ.get("IPMICRA_STRIKES", "11"))
SITES, PAGES = 5, 15
STRUCK = {"lima": "127.16.200.1", "oslo": "127.18.200.1"}
RESTING = {"rome": "127.20.200.1"}  # its owner sleeps, then works, then sleeps
CLOSED, OPEN = "mon-sun 00:00-00:01", "always"
SETTINGS = {
    "coordinator.lease_seconds": str(LEASE_S),
    "coordinator.leader_seconds": "3",
    "coordinator.probe_seconds_max": "15",
    "coordinator.claim_seconds": "5",
    "coordinator.integrates": "false",
    "coordinator.mesh_refresh_seconds": "240",
    "coordinator.strategy": "brute-force",  # which remembers nobody's silence
    "coordinator.retry_seconds": "5",
    "probing.ways": '["head"]',  # so that probes are in the sites' log
    "probing.patience_ms": "10000",
}


pytestmark = [pytest.mark.slow, pytest.mark.timeout(600 + 15 * STRIKES)]


def test_whatever_goes_wrong_every_page_is_integrated_once_in_effect_and_hours_are_kept(
    tmp_path: Path, database_address: str
) -> None:
    with made_up_world(tmp_path, database_address, SITES, PAGES, SETTINGS) as world:
        live_through_a_bad_day(world, Chaos(world, list(STRUCK), dice()))


def test_the_same_day_with_crawlers_in_sandboxes_which_end_with_their_docks(tmp_path: Path) -> None:
    needed("bwrap")
    database = f"sqlite:///{tmp_path / 'coordinator.sqlite'}"
    settings = {**SETTINGS, "host.sandbox": '"always"'}
    with made_up_world(tmp_path, database, SITES, PAGES, settings) as world:
        chaos = SandboxedChaos(world, list(STRUCK), dice())
        live_through_a_bad_day(world, chaos)
        assert chaos.ended, "there were sandboxes, and they were struck"


def dice() -> random.Random:
    return random.Random(20_261_116)


def live_through_a_bad_day(world: World, chaos: Chaos) -> None:
    world.coordinator.start()
    world.start_worker()
    for name, address in {**STRUCK, **RESTING}.items():
        world.of_host[name] = {"fetching.source_address": address}
    write_hours(world, "rome", CLOSED)
    for name in (*STRUCK, *RESTING):
        world.join(name)
        world.start_host(name)
    world.coordinator.rows("submit", *world.roots)
    struck = chaos.strike(STRIKES // 2)
    assert asked_by(world, "rome") == 0, "its hours had not come"
    write_hours(world, "rome", OPEN)
    struck += chaos.strike(STRIKES - STRIKES // 2)
    write_hours(world, "rome", CLOSED)
    time.sleep(6)  # it looks at its settings every two seconds, and drains
    asked = asked_by(world, "rome")
    chaos.calm()
    assert len(set(struck)) == min(STRIKES, len(chaos.strikes)), "no kind again before every other"
    world.until(lambda: set(world.integrated()) == world.urls, 240)
    world.until(lambda: set(world.client.status().packages) <= {"integrated"}, 90)
    assert len(world.integrated()) == len(world.urls), "nothing is there twice"
    world.until(lambda: world.client.status().sites == {"delegated": SITES}, 90)
    assert asked_by(world, "rome") == asked, "its hours were over"


def write_hours(world: World, name: str, hours: str) -> None:
    world.settings_file(name).write_text(f'[host]\nhours = "{hours}"\n')


def asked_by(world: World, name: str) -> int:
    """Requests of a host, by HEAD or GET, in the log of all sites."""
    address = {**STRUCK, **RESTING}[name]
    return sum(line.by == address for line in world.web.log)
