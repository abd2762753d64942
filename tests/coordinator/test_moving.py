"""A crawler moves to another host in the middle of a crawl: real processes, and the sites' own log."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from ipmicra.coordinator.crawler_life import CrawlerState
from ipmicra.lab.loopback.server import Asked
from tests.coordinator.world import World, made_up_world

SITES, PAGES = 3, 40
HOSTS = {"lima": "127.16.200.1", "oslo": "127.18.200.1"}
DELAY_S = 0.2
CLOSED, OPEN = "mon-sun 00:00-00:01", "always"
SETTINGS = {
    "crawler.delay_seconds_min": str(DELAY_S),
    "crawler.revisit_seconds_min": "8",
    "crawler.revisit_seconds_first": "8",
    "crawler.revisit_seconds_max": "60",
    "coordinator.leader_seconds": "3",
    "coordinator.lease_seconds": "20",
    "probing.ways": '["connect"]',
}


def pages_asked(world: World, name: str = "") -> list[Asked]:
    """GETs of pages in the log of all sites, of everybody or of one host."""
    asked = [line for line in world.web.log if line.method == "GET" and line.path != "/robots.txt"]
    return [line for line in asked if not name or line.by == HOSTS[name]]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_crawler_moves_in_the_middle_of_a_crawl(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'coordinator.sqlite'}"
    with made_up_world(tmp_path, database, SITES, PAGES, SETTINGS) as world:
        world.coordinator.start()
        world.of_host = {name: {"fetching.source_address": at} for name, at in HOSTS.items()}
        write_hours(world, "oslo", CLOSED)
        for name in HOSTS:
            world.join(name)
            world.start_host(name)
        world.until(lambda: world.crawler_state("oslo") == CrawlerState.RESTING, 60)
        world.coordinator.rows("submit", *world.roots)
        world.until(lambda: len(pages_asked(world, "lima")) > SITES * 5, 120)
        write_hours(world, "oslo", OPEN)
        world.coordinator.rows("move", "lima", "oslo")
        world.until(lambda: world.crawler_state("lima") == CrawlerState.MOVED, 90)
        by_lima = {(line.site, line.path) for line in pages_asked(world, "lima")}
        assert len(by_lima) < SITES * PAGES, "it moved in the middle"
        requests = len(pages_asked(world, "lima"))
        world.until(lambda: set(world.integrated()) == world.urls, 120)
        world.until(lambda: by_lima & revisited(world, "oslo"), 60)
        assert len(pages_asked(world, "lima")) == requests, "it asked for nothing after it had moved"
        assert len(world.integrated()) == len(world.urls)
        assert_polite(world)
        whole = Counter((line.site, line.path) for line in pages_asked(world) if line.status == 200)
        twice = {page for page, times in whole.items() if times > 1}
        assert not twice


def write_hours(world: World, name: str, hours: str) -> None:
    world.settings_file(name).write_text(f'[host]\nhours = "{hours}"\n')


def revisited(world: World, name: str) -> set[tuple[str, str]]:
    """Pages that a host asked for with a validator that was right."""
    return {(line.site, line.path) for line in pages_asked(world, name) if line.status == 304}


def assert_polite(world: World) -> None:
    """Between a site's last request from one host and its first from the next lies the pause."""
    for site in {line.site for line in pages_asked(world)}:
        asked = [line for line in pages_asked(world) if line.site == site]
        for before, after in pairwise(asked):
            if before.by != after.by:
                assert after.at_s - before.at_s >= DELAY_S * 0.9, (before, after)
