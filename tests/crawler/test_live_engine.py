"""An engine whose sites come and go while it runs: as a host's does, by the coordinator's orders."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from ipmicra.carrier.package import unpack
from ipmicra.carrier.spool import SealRules, Spool, SpoolPosition
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.crawler.frontier import DiscoveredUrl, Frontier
from ipmicra.crawler.plan import plan_from
from ipmicra.model.records import PageSeen
from ipmicra.model.urls import Site, Url, site_of
from tests.crawler.crawl_harness import settings_for
from tests.crawler.local_site import Answer, Asked, LocalSite, html


class Held:
    """The sites that are ours at the moment."""

    def __init__(self) -> None:
        self.sites: set[Site] = set()

    def holds(self, url: Url) -> bool:
        return site_of(url) in self.sites


@asynccontextmanager
async def running(
    folder: Path, held: Held, source: str = "", **crawler: object
) -> AsyncIterator[tuple[Engine, Frontier, asyncio.Task[object]]]:
    settings = settings_for(folder, **crawler)
    fetching = msgspec.structs.replace(settings.fetching, source_address=source)
    frontier = Frontier(folder / "frontier.sqlite")
    position = frontier.spool_position() or SpoolPosition(1, 0)
    spool = Spool(folder / "spool", "host", position, SealRules(age_s_max=0.2))
    try:
        async with WebFetcher(fetching, "test") as fetcher:
            engine = Engine(plan_from(settings.crawler, held, watch=True), frontier, spool, fetcher)
            task = asyncio.create_task(engine.run([]))
            try:
                yield engine, frontier, task
            finally:
                engine.stop()
                await asyncio.wait([task])
    finally:
        spool.close()
        frontier.close()


async def asked(site: LocalSite, path: str) -> None:
    async with asyncio.timeout(20):
        while path not in site.paths():
            await asyncio.sleep(0.005)


def seed(site: LocalSite) -> list[DiscoveredUrl]:
    return [DiscoveredUrl(Url(f"{site.address}/"), 0, 0)]


def test_a_site_given_while_running_is_crawled_and_one_taken_away_is_not(tmp_path: Path) -> None:
    async def story() -> None:
        first = LocalSite({"/": html("/slow"), "/slow": Answer(b"late", seconds=30)})
        second = LocalSite({"/": html("/end"), "/end": html()})
        held = Held()
        async with first.serving(), second.serving(), running(tmp_path, held) as (engine, frontier, _):
            held.sites.add(Site(first.address))
            engine.add(seed(first))
            await asked(first, "/slow")
            began = time.monotonic()
            await engine.close_site(Site(first.address))
            assert time.monotonic() - began < 5  # the slow request was broken off
            state = list(frontier.export_site(Site(first.address)))
            frontier.forget_site(Site(first.address))
            held.sites = {Site(second.address)}
            engine.add(seed(second))
            await asked(second, "/end")
        assert first.paths() == ["/robots.txt", "/", "/slow"]
        other = Frontier(tmp_path / "other.sqlite")
        assert other.import_site(state) == first.address
        assert (other.counts().pending, other.counts().known) == (1, 2)  # the slow page is still to come
        other.close()

    asyncio.run(story())


def test_a_run_that_is_cancelled_leaves_every_site_ready_to_go_on(tmp_path: Path) -> None:
    async def story() -> None:
        site = LocalSite({"/": html("/slow"), "/slow": Answer(b"late", seconds=30)})
        held = Held()
        async with site.serving():
            held.sites.add(Site(site.address))
            async with running(tmp_path, held) as (engine, frontier, task):
                engine.add(seed(site))
                await asked(site, "/slow")
                task.cancel()
                await asyncio.wait([task])
                assert frontier.next_ready_ms() is not None
                assert frontier.counts().pending == 1

    asyncio.run(story())


def test_a_lane_that_is_cancelled_before_it_began_is_closed_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        site = LocalSite({"/": html()})
        held = Held()
        async with site.serving():
            held.sites.add(Site(site.address))
            async with running(tmp_path, held) as (engine, frontier, task):
                engine.add(seed(site))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                assert frontier.next_ready_ms() is not None

    asyncio.run(story())


def test_the_last_package_is_sealed_though_nothing_further_happens(tmp_path: Path) -> None:
    async def story() -> None:
        site = LocalSite({"/": html()})
        held = Held()
        async with site.serving():
            held.sites.add(Site(site.address))
            async with running(tmp_path, held) as (engine, _, _task):
                engine.add(seed(site))
                async with asyncio.timeout(20):
                    while not list((tmp_path / "spool").glob("*.package")):
                        await asyncio.sleep(0.01)
                (package,) = (tmp_path / "spool").glob("*.package")
                pages = [r for r in unpack(package.read_bytes()).records if isinstance(r, PageSeen)]
                assert [page.url for page in pages] == [f"{site.address}/"]

    asyncio.run(story())


def test_a_page_that_is_wanted_whole_while_it_is_visited_is_sent_whole(tmp_path: Path) -> None:
    """The visit under way knows what the page held, and finds it unchanged."""

    def pages(asked: Asked) -> Answer:
        visits = site.paths().count("/")
        return html(text="the same")._replace(seconds=0.7 if visits == 2 else 0.0)

    def sent_whole() -> int:
        found = sorted((tmp_path / "spool").glob("*.package"))
        records = [record for path in found for record in unpack(path.read_bytes()).records]
        return sum(isinstance(record, PageSeen) for record in records)

    site = LocalSite(pages)

    async def story() -> None:
        held = Held()
        often: dict[str, object] = {
            "revisit_seconds_first": 0.3,
            "revisit_seconds_min": 0.3,
            "revisit_seconds_max": 0.6,
        }
        async with site.serving():
            held.sites.add(Site(site.address))
            async with running(tmp_path, held, "", **often) as (engine, _, _task), asyncio.timeout(20):
                engine.add(seed(site))
                while site.paths().count("/") < 2:
                    await asyncio.sleep(0.005)
                engine.send_whole([Url(f"{site.address}/")])
                while sent_whole() < 2:
                    await asyncio.sleep(0.05)
                visits = site.paths().count("/")
                while site.paths().count("/") < visits + 2:
                    await asyncio.sleep(0.05)
        assert sent_whole() == 2, "once more, and not with each visit"

    asyncio.run(story())


def test_connections_come_from_the_address_that_is_set(tmp_path: Path) -> None:
    askers: list[str] = []

    async def story() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            askers.append(writer.get_extra_info("peername")[0])
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = Url(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        held = Held()
        held.sites.add(site_of(url))
        async with running(tmp_path, held, source="127.0.0.77") as (engine, _, _task):
            engine.add([DiscoveredUrl(url, 0, 0)])
            async with asyncio.timeout(20):
                while not askers:
                    await asyncio.sleep(0.005)
        server.close()
        await server.wait_closed()

    asyncio.run(story())
    assert set(askers) == {"127.0.0.77"}
