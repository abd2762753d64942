"""A crawler moves to another host in the middle of a crawl: real processes, and the sites' own log.

Its host or the coordinator may be killed just then: the move goes on when they are back, and where the host
stays away its sites are the target's all the same.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from ipmicra.coordinator.admin.crawler_states import CrawlerState
from ipmicra.lab.loopback.server import Asked
from tests.coordinator.world import World, made_up_world

SITES, PAGES = 3, 40
HOSTS = {"lima": "127.16.200.1", "oslo": "127.18.200.1"}
DELAY_S = 0.6  # so that a killed process is back long before the crawl is over
CLOSED, OPEN = "mon-sun 00:00-00:01", "always"
SETTINGS = {
    "crawler.delay_seconds_min": str(DELAY_S),
    "crawler.revisit_seconds_min": "8",
    "crawler.revisit_seconds_first": "8",
    "crawler.revisit_seconds_max": "60",
    "coordinator.leader_seconds": "3",
    "coordinator.claim_seconds": "5",  # what a killed coordinator was integrating is picked up so soon
    "coordinator.lease_seconds": "20",
    "probing.ways": '["connect"]',
}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def pages_asked(world: World, name: str = "") -> list[Asked]:
    """GETs of pages in the log of all sites, of everybody or of one host."""
    asked = [line for line in world.web.log if line.method == "GET" and line.path != "/robots.txt"]
    return [line for line in asked if not name or line.by == HOSTS[name]]


def kill_nobody(_: World) -> None:
    """An ordinary day."""


def kill_the_source(world: World) -> None:
    world.kill_host("lima")
    world.start_host("lima")


def kill_the_coordinator(world: World) -> None:
    world.coordinator.stop(signal.SIGKILL)
    world.coordinator.start()


@pytest.mark.parametrize("strike", [kill_nobody, kill_the_source, kill_the_coordinator])
def test_a_crawler_moves_in_the_middle_of_a_crawl(
    tmp_path: Path, strike: Callable[[World], None]
) -> None:
    with crawling_world(tmp_path) as world:
        world.coordinator.rows("move", "lima", "oslo")
        strike(world)
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
        if strike is kill_the_source:  # what was under way when it was killed is fetched again
            assert len(twice) <= SITES
            assert twice <= by_lima
        else:
            assert not twice


def test_the_sites_of_a_source_that_dies_for_good_are_the_targets(tmp_path: Path) -> None:
    with crawling_world(tmp_path) as world:
        world.coordinator.rows("move", "lima", "oslo")
        world.kill_host("lima")
        requests = len(pages_asked(world, "lima"))
        assert len({(line.site, line.path) for line in pages_asked(world)}) < SITES * PAGES, (
            "pages are left"
        )
        world.until(lambda: world.crawler_state("lima") == CrawlerState.LOST, 90)
        world.until(lambda: set(world.integrated()) == world.urls, 120)
        assert len(world.integrated()) == len(world.urls)
        assert len(pages_asked(world, "lima")) == requests
        assert world.client.status().sites == {"delegated": SITES}
        assert_polite(world)


@contextmanager
def crawling_world(folder: Path) -> Iterator[World]:
    """Lima has some pages of every site, and most are still to be fetched; Oslo has begun its hours."""
    database = f"sqlite:///{folder / 'coordinator.sqlite'}"
    with made_up_world(folder, database, SITES, PAGES, SETTINGS) as world:
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
        yield world


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
