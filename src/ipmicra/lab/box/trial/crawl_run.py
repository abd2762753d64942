"""The crawler of each site -> all sites crawled by the real engine in the crawlers' namespaces, and the
time.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ipmicra.errors import OurFault
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.agents.messages import Crawled
from ipmicra.lab.box.trial.delegation_run import DelegatedSites


class CrawlRun(NamedTuple):
    """The duration of one crawl of all sites, all crawlers together."""

    by_crawler: dict[str, Crawled]

    @property
    def wall_s(self) -> float:
        """Until the last crawler was done; all begin together."""
        return max(each.seconds for each in self.by_crawler.values())

    @property
    def busy_s(self) -> float:
        """The sum of the crawlers' times: the work, however it was shared."""
        return sum(each.seconds for each in self.by_crawler.values())

    @property
    def pages(self) -> int:
        return sum(each.pages for each in self.by_crawler.values())


async def crawl_all(
    agents: Agents, delegated: Iterable[DelegatedSites], at_once: int, folder: Path
) -> CrawlRun:
    """Every crawler its own sites, all crawlers at the same time, each `at_once` sites at a time.

    Raises OurFault where a page failed: in a box without faults nothing may.
    """
    sites: dict[str, list[str]] = {}
    for each in delegated:
        sites.setdefault(each.crawler, []).append(each.site.name)
    found = await asyncio.gather(
        *(agents.crawl(name, own, at_once, folder / name) for name, own in sites.items())
    )
    run = CrawlRun(dict(zip(sites, found, strict=True)))
    failures = sum((Counter(each.failures) for each in found), Counter[str]())
    if failures:
        raise OurFault(f"crawling in the box, where nothing is broken, failed: {dict(failures)}")
    return run
