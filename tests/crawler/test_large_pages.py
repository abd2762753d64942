"""Many large pages at once: all of them come home, and memory is that of a few."""

from __future__ import annotations

import asyncio
import gzip
import random
from pathlib import Path

from ipmicra.carrier.allocator import release_memory
from ipmicra.crawler.crawl import Crawl, CrawlRequest
from ipmicra.crawler.engine import LARGE_PAGE_BYTES
from ipmicra.model.records import PageSeen
from tests.crawler.crawl_harness import Visit, records_in, settings_for
from tests.crawler.local_site import Answer, LocalSite, html
from tests.hostile.peak_memory import rise_of_memory

PAGES = 24
TEXT_CHARACTERS = 1_800_000  # less than extraction's cap, so that nothing is cut
PADDING = b"<!--" + b"-" * (LARGE_PAGE_BYTES - TEXT_CHARACTERS // 2) + b"-->"


def words() -> list[str]:
    dice = random.Random(7)
    return [f"{dice.getrandbits(40):x}" for _ in range(TEXT_CHARACTERS // 11)]


def large_page(number: int, of: list[str]) -> Answer:
    """The same words from another one on: as long as all others, and like none of them."""
    at = number * len(of) // PAGES
    text = " ".join(of[at:] + of[:at]).encode()
    body = b"<html><title>%d</title>%s<p>%s</p></html>" % (number, PADDING, text)
    headers = {"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"}
    return Answer(gzip.compress(body, 1), headers=headers)


async def crawl_large_pages(folder: Path) -> tuple[list[Visit], int]:
    of = words()
    pages = {f"/{number}": large_page(number, of) for number in range(PAGES)}
    pages["/"] = html(*pages)
    grants = ({"site": "127.0.0.1", "requests_per_second": 1000, "connections": 12},)
    async with LocalSite(pages).serving() as site:
        job = Crawl(
            settings_for(folder, grants=grants, commit_seconds=5.0).crawl,
            CrawlRequest((f"{site.address}/",)),
        )
        release_memory()
        with rise_of_memory() as rise:
            await job.run()
    return records_in(job.spool_folder), rise.bytes


def test_many_large_pages_take_the_memory_of_a_few(tmp_path: Path) -> None:
    records, rise_bytes = asyncio.run(crawl_large_pages(tmp_path))
    large = [record for record in records if isinstance(record, PageSeen) and record.page.text]
    assert sum(len(record.page.text) > TEXT_CHARACTERS // 2 for record in large) == PAGES
    assert not any(record.page.truncated for record in large)
    assert rise_bytes < 76 << 20, f"{rise_bytes >> 20} MB"
