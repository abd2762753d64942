"""Watching: an unchanged page costs a request and nothing home; changes and deletions are reported."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ipmicra.carrier.page_delta import apply_delta
from ipmicra.carrier.resend_requests import requests_in, write_requests
from ipmicra.carrier.spool import spools_in
from ipmicra.crawler.crawl import Crawl, CrawlRequest
from ipmicra.crawler.engine import Engine
from ipmicra.model.records import PageChanged, PageGone, PageSeen
from tests.crawler.crawl_harness import Visit, records_in, settings_for
from tests.crawler.local_site import Answer, Asked, LocalSite, html

SOON = {"revisit_seconds_first": 0.2, "revisit_seconds_min": 0.2, "revisit_seconds_max": 0.2}


async def watch(
    folder: Path, site: LocalSite, enough: Callable[[], bool], **crawler: object
) -> list[Visit]:
    """Crawl and watch until `enough`; all that came home."""
    settings = settings_for(folder, **{**SOON, **crawler})
    job = Crawl(settings.crawl, CrawlRequest((site.address,), watch=True))
    engines: list[Engine] = []
    running = asyncio.create_task(job.run(on_start=engines.append))
    async with asyncio.timeout(30):
        while not enough():
            await asyncio.sleep(0.005)
    engines[0].stop()
    await running
    return records_in(job.spool_folder)


def conditional(tag: str, answer: Answer) -> Callable[[Asked], Answer]:
    def serve(asked: Asked) -> Answer:
        if asked.headers.get("if-none-match") == tag:
            return Answer(status=304)
        return answer._replace(headers={**answer.headers, "ETag": tag})

    return serve


def test_a_page_that_answers_304_sends_nothing_home_again(tmp_path: Path) -> None:
    async def story() -> None:
        serve = conditional('"v1"', html(text="the same"))

        def pages(asked: Asked) -> Answer:
            return Answer(status=404) if asked.path == "/robots.txt" else serve(asked)

        async with LocalSite(pages).serving() as site:
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 5)
        assert [record.visit for record in records] == [1]
        tags = [asked.headers.get("if-none-match") for asked in site.asked[1:]]
        assert tags[:4] == [None, '"v1"', '"v1"', '"v1"']

    asyncio.run(story())


def test_a_page_without_validators_is_compared_by_its_content(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite({"/": html(text="the same")}).serving() as site:
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 4)
        assert [record.visit for record in records] == [1]

    asyncio.run(story())


def test_a_changed_page_is_sent_and_a_deleted_one_reported(tmp_path: Path) -> None:
    async def story() -> None:
        states = [html(text="first"), html(text="second"), Answer(status=410), html(text="back")]

        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=404)
            return states.pop(0) if len(states) > 1 else states[0]

        async with LocalSite(pages).serving() as site:
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 6)
        kinds = {record.visit: type(record) for record in records}
        assert len(kinds) == len(records)
        assert sorted(kinds.items()) == [(1, PageSeen), (2, PageSeen), (3, PageGone), (4, PageSeen)]

    asyncio.run(story())


def test_a_page_that_begins_to_ask_for_something_is_heard_though_its_content_stays(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        silent = '<meta name="robots" content="noindex">'
        reserved = '<meta name="robots" content="nosnippet">'
        states = [html(text="same", head=head) for head in ("", silent, reserved, "")]

        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=404)
            return states.pop(0) if len(states) > 1 else states[0]

        async with LocalSite(pages).serving() as site:
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 7)
        by_visit = sorted(records, key=lambda record: record.visit)
        assert [type(record) for record in by_visit] == [PageSeen, PageGone, PageSeen, PageSeen]
        asked = [record.page.robots.nosnippet for record in by_visit if isinstance(record, PageSeen)]
        assert asked == [False, True, False]

    asyncio.run(story())


@pytest.mark.parametrize(("directive", "kind"), [("noindex", PageGone), ("nosnippet", PageSeen)])
def test_what_a_304_asks_for_is_heard(tmp_path: Path, directive: str, kind: type[Visit]) -> None:
    async def story() -> None:
        asks: dict[str, str] = {}

        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=404)
            if len(site.asked) == 3:
                asks["X-Robots-Tag"] = directive
            if asked.headers.get("if-none-match") == '"v1"':
                return Answer(status=304, headers={"ETag": '"v1"', **asks})
            page = html(text="the same")
            return page._replace(headers={**page.headers, "ETag": '"v1"', **asks})

        async with LocalSite(pages).serving() as site:
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 7)
        assert [type(record) for record in sorted(records, key=lambda r: r.visit)] == [PageSeen, kind]
        last = max(records, key=lambda record: record.visit)
        hides = isinstance(last, PageSeen) and last.page.robots.nosnippet
        assert hides is (directive == "nosnippet")

    asyncio.run(story())


LINES = "".join(f"<p>Line {number} of a page that stays.</p>" for number in range(60))


def test_a_changed_page_sends_only_what_changed_and_the_index_has_all_of_it(tmp_path: Path) -> None:
    async def story() -> None:
        states = [html(text=f"{LINES}<p>{word}</p>") for word in ("apples", "oranges")]

        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=404)
            return states.pop(0) if len(states) > 1 else states[0]

        async with LocalSite(pages).serving() as site:
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 5)
        first, second = sorted(records, key=lambda record: record.visit)
        assert isinstance(first, PageSeen)
        assert isinstance(second, PageChanged)
        assert second.new == ["oranges"]
        assert "oranges" in apply_delta(second, first.page).page.text

    asyncio.run(story())


def test_a_page_that_somebody_lacks_is_sent_whole_again(tmp_path: Path) -> None:
    async def story() -> None:
        page = html(text=f"{LINES}<p>apples</p>")
        async with LocalSite({"/": page}).serving() as site:
            settings = {"revisit_seconds_first": 3600.0, "revisit_seconds_min": 3600.0}
            await watch(tmp_path, site, lambda: len(site.asked) >= 2, **settings)
            (spool,) = spools_in(tmp_path)
            write_requests(spool, [f"{site.address}/"])
            records = await watch(tmp_path, site, lambda: len(site.asked) >= 3, **settings)
        assert [type(record) for record in records] == [PageSeen, PageSeen]
        assert requests_in(spool) == []

    asyncio.run(story())


def test_a_date_in_the_future_hastens_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite({}).serving() as site:
            listing = (
                f"<urlset><url><loc>{site.address}/</loc><lastmod>2999-01-01</lastmod></url></urlset>"
            )
            site.pages = {
                "/robots.txt": Answer(f"Sitemap: {site.address}/s.xml".encode()),
                "/": html("/end"),
                "/s.xml": Answer(listing.encode(), headers={"Content-Type": "application/xml"}),
                "/end": html(),
            }
            calm = dict.fromkeys(SOON, 3600.0)
            await watch(tmp_path, site, lambda: len(site.asked) >= 4, **calm)
        assert sorted(site.paths()) == ["/", "/end", "/robots.txt", "/s.xml"]

    asyncio.run(story())


def test_a_daily_budget_of_bytes_stops_revisits(tmp_path: Path) -> None:
    async def story() -> None:
        page = html(text="the same " * 50)
        began = time.monotonic()
        async with LocalSite({"/": page}).serving() as site:
            await watch(
                tmp_path,
                site,
                lambda: time.monotonic() - began > 2.5,
                revisit_bytes_per_day=2 * len(page.body),
            )
        assert 3 <= len(site.asked) <= 5  # robots.txt, the first visit, and what the budget allows

    asyncio.run(story())
