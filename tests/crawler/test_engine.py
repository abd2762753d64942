"""The engine against real servers: what it fetches, what it leaves alone, and what it sends home."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path
from typing import Any

import pytest

from ipmicra.crawler.crawl import CrawlRequest
from ipmicra.crawler.extraction import Page, extract
from ipmicra.crawler.parsing import jobs
from ipmicra.model.records import PageGone, PageMoved, PageSeen, VisitFailed
from tests.crawler.crawl_harness import crawl
from tests.crawler.local_site import Answer, Asked, LocalSite, html

ROBOTS = Answer(b"User-agent: *\nDisallow: /private/\n", headers={"Content-Type": "text/plain"})


def test_a_site_is_crawled_to_its_end_and_robots_is_asked_first(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {
            "/robots.txt": ROBOTS,
            "/": html("/a", "/b#part", "/private/x", "https://elsewhere.example/"),
            "/a": html("/b?utm_source=mail", "/missing"),
            "/b": html("/"),
        }
        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert site.paths()[0] == "/robots.txt"
        assert sorted(site.paths()[1:]) == ["/", "/a", "/b", "/missing"]
        assert done.seen() == {f"{site.address}{path}" for path in ("/", "/a", "/b")}
        assert [record.url for record in done.records if isinstance(record, PageGone)] == [
            f"{site.address}/missing"
        ]
        assert done.failures() == {f"{site.address}/private/x": "robots"}
        assert done.counts.pending == 0

    asyncio.run(story())


def test_links_to_other_sites_are_in_the_package_though_not_followed(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite({"/": html("https://elsewhere.example/x")}).serving() as site:
            done = await crawl(tmp_path, site.address)
        (record,) = done.records
        assert isinstance(record, PageSeen)
        assert [link.url for link in record.page.links] == ["https://elsewhere.example/x"]

    asyncio.run(story())


def test_every_hop_of_a_redirect_is_checked_like_any_other_url(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {
            "/robots.txt": ROBOTS,
            "/": html("/old", "/out", "/trap"),
            "/old": Answer(status=301, headers={"Location": "/new"}),
            "/new": html(),
            "/out": Answer(status=302, headers={"Location": "http://127.0.0.2:9/"}),
            "/trap": Answer(status=302, headers={"Location": "/private/y"}),
        }
        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        moved = {record.url: record.target for record in done.records if isinstance(record, PageMoved)}
        assert moved == {
            f"{site.address}/old": f"{site.address}/new",
            f"{site.address}/out": "http://127.0.0.2:9/",
            f"{site.address}/trap": f"{site.address}/private/y",
        }
        assert done.seen() == {f"{site.address}/", f"{site.address}/new"}
        assert done.failures() == {f"{site.address}/private/y": "robots"}

    asyncio.run(story())


def test_a_redirect_chain_ends_at_the_limit_and_a_loop_at_once(tmp_path: Path) -> None:
    def hop(asked: Asked) -> Answer:
        if asked.path == "/":
            return html("/hop/0", "/loop/a")
        if asked.path.startswith("/loop/"):
            return Answer(
                status=302, headers={"Location": "/loop/b" if asked.path == "/loop/a" else "/loop/a"}
            )
        number = asked.path.removeprefix("/hop/")
        return (
            Answer(status=302, headers={"Location": f"/hop/{int(number) + 1}"})
            if number.isdigit()
            else Answer(status=404)
        )

    async def story() -> None:
        async with LocalSite(hop).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert done.failures() == {f"{site.address}/hop/5": "redirects_too_many"}
        assert sorted(path for path in site.paths() if "loop" in path) == ["/loop/a", "/loop/b"]

    asyncio.run(story())


def test_noindex_is_not_kept_and_nofollow_is_not_followed(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {
            "/": html("/silent", "/closed"),
            "/silent": html("/from-silent", head='<meta name="robots" content="noindex">'),
            "/closed": html("/from-closed")._replace(
                headers={"Content-Type": "text/html", "X-Robots-Tag": "nofollow, nosnippet"}
            ),
            "/from-silent": html(),
            "/from-closed": html(),
        }
        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert done.seen() == {f"{site.address}{path}" for path in ("/", "/closed", "/from-silent")}
        pages_seen = [record for record in done.records if isinstance(record, PageSeen)]
        snippets = {record.url: record.page.robots.nosnippet for record in pages_seen}
        assert snippets[f"{site.address}/closed"]

    asyncio.run(story())


def test_sitemaps_and_feeds_are_followed(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite({}).serving() as site:
            here = site.address
            index = f"<sitemapindex><sitemap><loc>{here}/more.xml.gz</loc></sitemap></sitemapindex>"
            more = f"<urlset><url><loc>{here}/hidden</loc><changefreq>daily</changefreq></url></urlset>"
            feed = "<rss><channel><link>/</link><item><link>/news</link></item></channel></rss>"
            xml = {"Content-Type": "application/xml"}
            site.pages = {
                "/robots.txt": Answer(f"Sitemap: {here}/sitemap.xml".encode()),
                "/": html(head='<link rel="alternate" type="application/rss+xml" href="/feed">'),
                "/sitemap.xml": Answer(index.encode(), headers=xml),
                "/more.xml.gz": Answer(
                    gzip.compress(more.encode()), headers={"Content-Type": "application/gzip"}
                ),
                "/feed": Answer(feed.encode(), headers=xml),
                "/hidden": html(),
                "/news": html(),
            }
            done = await crawl(tmp_path, here)
        assert done.seen() == {f"{here}{path}" for path in ("/", "/hidden", "/news")}

    asyncio.run(story())


def test_a_limit_of_pages_holds_and_the_next_run_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        pages = {"/": html(*(f"/p{number}" for number in range(20)))}
        pages |= {f"/p{number}": html("/") for number in range(20)}
        async with LocalSite(pages).serving() as site:
            first = await crawl(tmp_path, wish=CrawlRequest((site.address,), pages_max=7))
            assert first.counts.pages == 7
            assert len(site.asked) == 8
            second = await crawl(tmp_path, wish=CrawlRequest((site.address,), pages_max=12))
            assert second.counts.pages == 12
            third = await crawl(tmp_path, wish=CrawlRequest((site.address,)))
        assert third.counts.pages == 21
        assert len(third.seen()) == len(third.records) == 21
        assert sorted(site.paths()) == sorted(["/robots.txt", *pages])

    asyncio.run(story())


def test_a_plain_text_sitemap_is_followed(tmp_path: Path) -> None:
    async def story() -> None:
        async with LocalSite({}).serving() as site:
            here = site.address
            site.pages = {
                "/robots.txt": Answer(f"Sitemap: {here}/sitemap.txt".encode()),
                "/": html(),
                "/sitemap.txt": Answer(
                    f"{here}/hidden\n{here}/other\n".encode(), headers={"Content-Type": "text/plain"}
                ),
                "/hidden": html(),
                "/other": html(),
            }
            done = await crawl(tmp_path, here)
        assert done.seen() == {f"{here}{path}" for path in ("/", "/hidden", "/other")}

    asyncio.run(story())


def test_an_answer_without_a_whole_page_is_no_page(tmp_path: Path) -> None:
    async def story() -> None:
        page = html(text="words")
        pages = {
            "/": html("/204", "/206", "/first"),
            "/204": Answer(status=204),
            "/206": page._replace(status=206),
            "/first": page._replace(headers={"Content-Type": "text/html", "content-type": "image/png"}),
        }
        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert done.failures() == {
            f"{site.address}/204": "status 204",
            f"{site.address}/206": "status 206",
        }
        assert done.seen() == {f"{site.address}/", f"{site.address}/first"}

    asyncio.run(story())


def test_a_page_that_we_fail_at_is_recorded_and_the_crawl_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extract_most(body: bytes, *rest: str, **others: Any) -> Page:
        if b"unlucky" in body:
            raise IndexError("as scripted")
        return extract(body, *rest, **others)

    monkeypatch.setattr(jobs, "extract", extract_most)

    async def story() -> None:
        pages = {"/": html("/a", "/b"), "/a": html(text="unlucky"), "/b": html()}
        async with LocalSite(pages).serving() as site:
            done = await crawl(tmp_path, site.address)
        assert done.failures() == {f"{site.address}/a": "our_defect"}
        (record,) = [record for record in done.records if isinstance(record, VisitFailed)]
        assert "IndexError: as scripted" in record.detail
        assert done.seen() == {f"{site.address}/", f"{site.address}/b"}

    asyncio.run(story())


def test_a_crawl_that_is_given_another_site_goes_on_with_the_first(tmp_path: Path) -> None:
    async def story() -> None:
        chain = {"/": html("/1"), "/1": html("/2"), "/2": html("/3"), "/3": html()}
        async with LocalSite(chain).serving() as one, LocalSite(chain).serving() as two:
            await crawl(tmp_path, wish=CrawlRequest((one.address,), pages_max=1, name="both"))
            done = await crawl(tmp_path, wish=CrawlRequest((two.address,), name="both"))
        assert done.seen() == {f"{site.address}{path}" for site in (one, two) for path in chain}

    asyncio.run(story())


def test_a_named_url_that_failed_is_asked_again_when_it_is_named_again(tmp_path: Path) -> None:
    async def story() -> None:
        mended = False

        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=404)
            return html("/a" if asked.path == "/" else "/") if mended else Answer(status=500)

        async with LocalSite(pages).serving() as site:
            first = await crawl(tmp_path, site.address)
            assert first.failures() == {f"{site.address}/": "status 500"}
            mended = True
            second = await crawl(tmp_path, site.address)
            count = len(site.asked)
            third = await crawl(tmp_path, site.address)
        assert second.seen() == third.seen() == {f"{site.address}/", f"{site.address}/a"}
        assert len(site.asked) == count  # what has answered is not asked again

    asyncio.run(story())
