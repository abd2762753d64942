"""The hostile site is crawled to its end: every page has its outcome on record, and memory stays flat."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from ipmicra.crawler.crawl import Crawl, CrawlRequest
from ipmicra.model.failures import FailureKind
from ipmicra.model.records import PageMoved, PageSeen, VisitFailed
from ipmicra.settings import Settings
from tests.crawler.crawl_harness import Visit, records_in, settings_for
from tests.hostile.hostile_site import REDIRECTS, HostileSite, hostile_site
from tests.hostile.peak_memory import rise_of_memory


def hasty(folder: Path) -> Settings:
    settings = settings_for(
        folder,
        grants=({"site": "127.0.0.1", "requests_per_second": 1000, "connections": 16},),
        retries_max=1,
    )
    fetching = msgspec.structs.replace(
        settings.fetching,
        open_ranges=("127.0.0.1/32",),
        connect_ms_max=2_000,
        first_byte_ms_max=600,
        total_ms_max=2_500,
        rate_grace_ms=700,
        rate_bytes_per_second_min=2_000,
        body_bytes_max=256 << 10,
    )
    return msgspec.structs.replace(settings, fetching=fetching)


def word_for(record: Visit) -> str:
    return record.kind if isinstance(record, VisitFailed) else type(record).__name__


def words(records: list[Visit], hostile: HostileSite) -> dict[str, str]:
    """What is recorded for each path of the hostile site."""
    found = {record.url: word_for(record) for record in records}
    return {path: found.get(hostile.url(path), "nothing") for path in hostile.expected}


async def crawl_hostile(folder: Path) -> tuple[HostileSite, list[Visit], int]:
    async with hostile_site() as hostile:
        job = Crawl(hasty(folder).crawl, CrawlRequest((hostile.url("/"),), scope="any"))
        with rise_of_memory() as rise:
            _, counts = await job.run()
        assert counts.pending == 0, "every URL came to an end"
        return hostile, records_in(job.spool_folder), rise.bytes


def test_the_hostile_site_is_crawled_to_its_end(tmp_path: Path) -> None:
    hostile, records, rise_bytes = asyncio.run(crawl_hostile(tmp_path))
    assert len({(record.url, record.visit) for record in records}) == len(records)
    for path, word in words(records, hostile).items():
        expected = hostile.expected[path]
        if path in REDIRECTS or path.startswith("/onwards/"):
            assert word == ("bad_redirect" if path == "/to-file" else "PageMoved"), path
        elif isinstance(expected, FailureKind):
            assert word == expected.value, path
        else:
            assert word != "nothing", path
    targets = {record.target for record in records if isinstance(record, PageMoved)}
    private = {url for url in targets if not url.startswith(hostile.url("/")) and ":25/" not in url}
    refused = {record.url for record in records if word_for(record) == "refused_address"}
    assert private == refused
    assert "redirects_too_many" in {word_for(record) for record in records}
    assert any(isinstance(record, PageSeen) for record in records)
    assert rise_bytes < 40 << 20
