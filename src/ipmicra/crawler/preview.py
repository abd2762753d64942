"""A crawl -> what its seeds link to, and what would be done with each link; nothing is kept.

Only robots.txt and the seeds themselves are fetched, by the same engine, in a folder that is discarded.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ipmicra.carrier.package import unpack
from ipmicra.carrier.spool import Spool
from ipmicra.crawler.crawl import Crawl, parser_limits
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.frontier import DiscoveredUrl, Frontier
from ipmicra.crawler.parsing.pool import ParserPool
from ipmicra.crawler.robots_file import robots_of
from ipmicra.model.records import PageMoved, PageSeen, Record, VisitFailed
from ipmicra.model.urls import Url, path_of, site_of


class PreviewEntry(msgspec.Struct, frozen=True):
    url: str
    verdict: str  # "followed", "forbidden by robots.txt", "out of scope", a trap's name, a failure


class Preview(msgspec.Struct, frozen=True):
    entries: list[PreviewEntry]


async def preview(crawl: Crawl) -> Preview:
    """Fetch the seeds, and judge what they link to."""
    hasty = msgspec.structs.replace(crawl.plan.settings, patience_seconds=0.0, retries_max=0)
    plan = replace(crawl.plan, settings=hasty, pages_max=len(crawl.seeds), watch=False)
    with tempfile.TemporaryDirectory(prefix="ipmicra-dry-run-") as folder:
        frontier = Frontier(Path(folder) / "frontier.sqlite", plan.budget)
        spool = Spool(Path(folder) / "spool", "dry-run", None)
        try:
            async with crawl.fetcher() as fetcher:
                await crawl.check_contact(fetcher)
                async with ParserPool(parser_limits(crawl.settings.crawler)) as parsers:
                    engine = Engine(plan, frontier, spool, fetcher, parsers=parsers)
                    await engine.run([DiscoveredUrl(seed, 0, 0) for seed in crawl.seeds])
            records = [record for package in spool.waiting() for record in _records(package.path)]
            return Preview(list(_judged(crawl, frontier, records)))
        finally:
            spool.close()
            frontier.close()


def _records(path: Path) -> list[Record]:
    return unpack(path.read_bytes()).records


def _judged(crawl: Crawl, frontier: Frontier, records: list[Record]) -> Iterator[PreviewEntry]:
    seen: set[str] = set()
    for record in records:
        if isinstance(record, VisitFailed):
            why = f"failed: {record.kind}{f': {record.detail}' if record.detail else ''}"
            yield PreviewEntry(record.url, "forbidden by robots.txt" if record.kind == "robots" else why)
        elif isinstance(record, PageMoved):
            yield PreviewEntry(record.url, f"moved to {record.target}")
        elif isinstance(record, PageSeen):
            yield PreviewEntry(record.url, "fetched")
            for link in record.page.links:
                url = crawl.plan.normaliser.url(link.url)
                if url is not None and url not in seen and url not in crawl.seeds:
                    seen.add(url)
                    yield PreviewEntry(url, _verdict(crawl, frontier, url, link.rel))


def _verdict(crawl: Crawl, frontier: Frontier, url: Url, rel: str) -> str:
    refusal = crawl.plan.rejection_reason(url, 1, datetime.now(UTC).year)
    if refusal is not None:
        return refusal
    if "nofollow" in rel:
        return "nofollow"
    site = frontier.site(site_of(url))
    if site is None or site.robots_until == 0:
        return "followed, if its robots.txt allows it"
    robots = robots_of(site, crawl.settings.crawler.product)
    return "followed" if robots.allows(path_of(url)) else "forbidden by robots.txt"
