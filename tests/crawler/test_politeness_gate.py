"""Politeness as sites feel it: one visitor at a time, pauses, blocks, and one clock for one address."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ipmicra.crawler import robots_file
from ipmicra.crawler.crawl import CrawlRequest
from ipmicra.crawler.decisions.politeness import PolitenessClock, PolitenessPolicy
from ipmicra.crawler.frontier import Frontier
from ipmicra.crawler.frontier.entries import FrontierSite
from ipmicra.crawler.politeness_gate import PolitenessGate
from ipmicra.model.records import VisitFailed
from ipmicra.model.urls import Site
from tests.crawler.crawl_harness import Outcome, crawl
from tests.crawler.local_site import Answer, Asked, LocalSite, html

UNGRANTED: dict[str, Any] = {"grants": (), "response_time_factor": 0.0}


ONE_CONNECTION = ({"site": "127.0.0.1", "requests_per_second": 50, "connections": 1},)


def gaps(times: list[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def test_an_ungranted_site_sees_one_request_at_a_time_and_a_pause(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html("/a", "/b", "/c"), "/a": html(), "/b": html(), "/c": html()}
        async with LocalSite(pages).serving() as site:
            await crawl(tmp_path, site.address, delay_seconds_min=0.15, **UNGRANTED)
        assert site.at_once_most == 1
        assert len(site.asked) == 5
        assert min(gaps([asked.at for asked in site.asked])) >= 0.149

    asyncio.run(story())


def test_the_pause_grows_with_the_response_time(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html("/a")._replace(seconds=0.1), "/a": html()}
        async with LocalSite(pages).serving() as site:
            await crawl(
                tmp_path, site.address, grants=(), delay_seconds_min=0.01, response_time_factor=3.0
            )
        assert gaps([asked.at for asked in site.asked])[-1] >= 0.1 + 0.3

    asyncio.run(story())


def test_crawl_delay_is_obeyed_even_where_a_grant_is_faster(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {
            "/robots.txt": Answer(b"User-agent: *\nCrawl-delay: 0.25\n"),
            "/": html("/a", "/b"),
            "/a": html(),
            "/b": html(),
        }
        async with LocalSite(pages).serving() as site:
            await crawl(tmp_path, site.address)
        assert min(gaps([asked.at for asked in site.asked[1:]])) >= 0.249

    asyncio.run(story())


def test_two_sites_on_one_address_share_one_clock(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html("/a", "/b"), "/a": html(), "/b": html()}
        async with LocalSite(pages).serving() as one, LocalSite(pages).serving() as two:
            await crawl(tmp_path, one.address, two.address, delay_seconds_min=0.1, **UNGRANTED)
        assert len(one.asked) == len(two.asked) == 4
        times = sorted(asked.at for asked in [*one.asked, *two.asked])
        assert min(gaps(times)) >= 0.099

    asyncio.run(story())


def test_two_sites_on_two_addresses_do_not_wait_for_each_other(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html("/a", "/b"), "/a": html(), "/b": html()}
        async with LocalSite(pages).serving() as one, LocalSite(pages).serving("127.0.0.2") as two:
            other = f"http://127.0.0.2:{two.port}"
            await crawl(tmp_path, one.address, other, delay_seconds_min=0.3, **UNGRANTED)
        times = sorted(asked.at for asked in [*one.asked, *two.asked])
        assert times[-1] - times[0] < 7 * 0.3

    asyncio.run(story())


def test_the_clock_of_an_address_outlives_the_process(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html("/a"), "/a": html()}
        async with LocalSite(pages).serving() as site:
            wish = CrawlRequest((site.address,), pages_max=1)
            await crawl(tmp_path, wish=wish, delay_seconds_min=1.0, **UNGRANTED)
            wish = CrawlRequest((site.address,), pages_max=2)
            await crawl(tmp_path, wish=wish, delay_seconds_min=1.0, **UNGRANTED, patience_seconds=5)
        assert gaps([asked.at for asked in site.asked])[-1] >= 0.999

    asyncio.run(story())


def blocked_until(done: Outcome) -> float:
    frontier = Frontier(done.job.frontier_path)
    try:
        ready_ms = frontier.next_ready_ms()
    finally:
        frontier.close()
    assert ready_ms is not None
    return ready_ms / 1000


def test_a_refusal_blocks_the_queue_as_long_as_retry_after_says(tmp_path: Path) -> None:
    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            if asked.path in {"/robots.txt", "/"}:
                return html("/a", "/b", "/c")
            return Answer(status=429, headers={"Retry-After": "120"})

        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address, grants=ONE_CONNECTION)
        assert len(site.asked) == 3  # robots.txt, the seed, one refusal
        assert done.counts.pending == 3
        assert 119 <= blocked_until(done) - site.asked[-1].at <= 121

    asyncio.run(story())


def test_a_refused_robots_txt_blocks_the_site_as_well(tmp_path: Path) -> None:
    async def story() -> None:
        refusal = Answer(status=429, headers={"Retry-After": "120"})
        async with LocalSite(lambda _: refusal).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert site.paths() == ["/robots.txt"]
        assert done.counts.pending == 1
        assert 119 <= blocked_until(done) - site.asked[0].at <= 121

    asyncio.run(story())


def test_a_503_without_retry_after_blocks_for_a_minute(tmp_path: Path) -> None:
    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            if asked.path == "/":
                return html("/a", "/b", "/c")
            return Answer(status=404 if asked.path == "/robots.txt" else 503)

        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address, grants=ONE_CONNECTION)
        assert len(site.asked) == 3  # robots.txt, the seed, one refusal
        assert done.counts.pending == 3
        assert 59 <= blocked_until(done) - site.asked[-1].at <= 61

    asyncio.run(story())


def test_an_unreachable_robots_txt_forbids_everything_for_now(tmp_path: Path) -> None:
    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            return Answer(status=500) if asked.path == "/robots.txt" else html()

        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert site.paths() == ["/robots.txt"]
        assert done.counts.pending == 1
        assert done.progress.failures == {"robots_unreachable": 1}
        assert [(f.url, f.kind, f.detail) for f in done.records if isinstance(f, VisitFailed)] == [
            (f"{site.address}/robots.txt", "robots_unreachable", "status 500")
        ]

    asyncio.run(story())


def test_robots_txt_is_followed_over_five_redirects(tmp_path: Path) -> None:
    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            hops = {"/robots.txt": "/r1", "/r1": "/r2", "/r2": "/r3", "/r3": "/r4", "/r4": "/r5"}
            if asked.path in hops:
                return Answer(status=301, headers={"Location": hops[asked.path]})
            return Answer(b"User-agent: *\nDisallow: /") if asked.path == "/r5" else html()

        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert site.paths() == ["/robots.txt", "/r1", "/r2", "/r3", "/r4", "/r5"]
        assert done.failures() == {f"{site.address}/": "robots"}

    asyncio.run(story())


def test_a_site_that_speaks_no_http_is_asked_once_for_all_of_its_pages(tmp_path: Path) -> None:
    async def story() -> None:
        asked: list[None] = []

        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked.append(None)
            writer.write(b"220 mail.example ESMTP\r\n")
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            here = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            seeds = [f"{here}/{number}" for number in range(30)]
            done = await crawl(tmp_path, *seeds, delay_seconds_min=0.01, **UNGRANTED)
        assert len(asked) == 1
        assert set(done.failures().values()) == {"bad_http"}
        assert len(done.failures()) == 30

    asyncio.run(story())


def test_a_robots_txt_redirected_to_where_nobody_may_go_is_out_of_reach(tmp_path: Path) -> None:
    async def story() -> None:
        hop = Answer(status=302, headers={"Location": "http://10.0.0.1/robots.txt"})
        async with LocalSite(lambda _: hop).serving() as site:
            done = await crawl(tmp_path, *(f"{site.address}/{number}" for number in range(9)))
        assert site.paths() == ["/robots.txt"]
        assert done.failures() == {f"{site.address}/robots.txt": "robots_unreachable"}
        assert done.counts.pending == 9

    asyncio.run(story())


def test_a_slow_robots_txt_is_followed_over_a_redirect_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":  # the pause after it is too long to be sat out by any page
                return Answer(status=301, headers={"Location": "/r1"}, seconds=0.3)
            return Answer(b"User-agent: *\nDisallow: /a") if asked.path == "/r1" else html("/a")

        async with LocalSite(pages).serving() as site:
            manners: dict[str, Any] = {"delay_seconds_min": 0.01, "response_time_factor": 18.0}
            done = await crawl(tmp_path, site.address, grants=(), **manners)
        assert site.paths() == ["/robots.txt", "/r1", "/"]
        assert done.failures() == {f"{site.address}/a": "robots"}

    asyncio.run(story())


def test_robots_txt_is_asked_for_again_in_the_middle_of_a_long_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots_file, "CACHE_SECONDS_MAX", 0.4)

    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            if asked.path != "/robots.txt":
                return html(*(f"/{number}" for number in range(30)))
            return Answer(b"User-agent: *\nDisallow: /" if len(site.asked) > 1 else b"")

        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address, delay_seconds_min=0.1, **UNGRANTED)
        assert site.paths().count("/robots.txt") == 2
        assert 3 <= len(done.seen()) <= 6
        assert set(done.failures().values()) == {"robots"}

    asyncio.run(story())


def test_a_sitemap_that_robots_txt_begins_to_name_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots_file, "CACHE_SECONDS_MAX", 0.4)

    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(f"Sitemap: {site.address}/s.txt".encode() if len(site.asked) > 1 else b"")
            if asked.path == "/s.txt":
                text = f"{site.address}/hidden\n".encode()
                return Answer(text, headers={"Content-Type": "text/plain"})
            return html(*(f"/{number}" for number in range(9)))

        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address, delay_seconds_min=0.1, **UNGRANTED)
        assert f"{site.address}/hidden" in done.seen()

    asyncio.run(story())


def test_a_robots_txt_kept_by_a_clock_that_was_ahead_is_asked_for_again(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html("/a"), "/a": html()}
        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, wish=CrawlRequest((site.address,), pages_max=1))
            with sqlite3.connect(done.job.frontier_path) as database:
                database.execute("UPDATE robots SET until = until + 1e8")
            database.close()
            await crawl(tmp_path, wish=CrawlRequest((site.address,)))
        assert site.paths() == ["/robots.txt", "/", "/robots.txt", "/a"]

    asyncio.run(story())


def test_robots_txt_is_kept_between_runs(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {
            "/robots.txt": Answer(b"User-agent: *\nDisallow: /b"),
            "/": html("/a", "/b"),
            "/a": html(),
        }
        async with LocalSite(pages).serving() as site:
            await crawl(tmp_path, wish=CrawlRequest((site.address,), pages_max=1))
            done = await crawl(tmp_path, wish=CrawlRequest((site.address,)))
        assert sorted(site.paths()) == ["/", "/a", "/robots.txt"]
        assert done.failures() == {f"{site.address}/b": "robots"}

    asyncio.run(story())


def test_an_address_has_one_request_under_way() -> None:
    async def story() -> None:
        gate = PolitenessGate(lambda address: PolitenessClock())
        policy = PolitenessPolicy(delay_seconds_min=0.0)
        first = FrontierSite(1, Site("http://a.example"), PolitenessClock())
        second = FrontierSite(2, Site("http://b.example"), PolitenessClock())
        assert await gate.acquire(first, "192.0.2.1", policy) is None
        waiting = asyncio.create_task(gate.acquire(second, "192.0.2.1", policy))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        gate.finish(first, "192.0.2.1", policy, 0.0)
        assert await asyncio.wait_for(waiting, 60) is None

    asyncio.run(story())
