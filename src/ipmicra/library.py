"""A URL, a query, or latencies -> pages, hits, a decision: the short ways into ipmicra for other programs.

Invariant: nothing here reads settings files or the environment; all that counts is an argument. robots.txt,
politeness and the address guard hold as everywhere. `import ipmicra` offers these functions.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from ipmicra.addresses import IPAddress
from ipmicra.carrier.package import packages_in, unpack
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.crawler.crawl import Crawl, CrawlRequest
from ipmicra.crawler.decisions.scope import ScopeKind
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.settings import CrawlerSettings, CrawlSettings
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision
from ipmicra.delegation.driver import drive
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.hierarchy import SubnetTree
from ipmicra.model.ids import CrawlerId
from ipmicra.model.page import Page
from ipmicra.model.probes import NoAnswer, Probe, ProbeAnswer, Target
from ipmicra.model.records import PageSeen
from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.protocol.coordinator_api import Nearest
from ipmicra.registry.treefile import open_tree
from ipmicra.search.factory import INDEX_FOLDER, open_index


def crawl(
    *urls: str,
    contact: str,
    folder: Path | None = None,
    scope: ScopeKind = "site",
    pages_max: int | None = None,
    fetching: FetchingSettings | None = None,
) -> Iterator[Page]:
    """Crawl from these URLs, then yield every page that was fetched.

    `contact` is an e-mail address or a URL for the User-Agent: the owner of a site must be able to reach you.
    With a `folder` the frontier and the packages stay there, and the next call goes on where this one ended.
    Not for use inside a running event loop. Raises a Fault.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="ipmicra-") as temporary:
            yield from crawl(
                *urls,
                contact=contact,
                folder=Path(temporary),
                scope=scope,
                pages_max=pages_max,
                fetching=fetching,
            )
        return
    settings = CrawlSettings(
        data_folder=folder,
        crawler=CrawlerSettings(contact=contact),
        fetching=fetching or FetchingSettings(),
    )
    job = Crawl(settings, CrawlRequest(seeds=urls, scope=scope, pages_max=pages_max))
    asyncio.run(job.run())
    for file in packages_in(job.spool_folder):
        for record in unpack(file.path.read_bytes()).records:
            if isinstance(record, PageSeen):
                yield record.page


def search_index(text: str, folder: Path, *, limit: int = 10, offset: int = 0) -> SearchAnswer:
    """Search the index of a data folder, such as `ipmicra search index` makes. Raises a Fault."""
    with closing(open_index(folder / INDEX_FOLDER)) as index:
        return index.search(SearchRequest(text=text, limit=limit, offset=offset))


def nearest(url: str, coordinator: str, wait_s: float = 5.0) -> Nearest:
    """Which crawler of that coordinator is nearest to the URL's site. Raises a Fault."""
    return CoordinatorClient(coordinator).nearest(url, wait_s)


def read_tree(path: Path) -> SubnetTree:
    """The tree of subnets in a file that `ipmicra registry build` wrote. Raises a Fault."""
    return open_tree(path).tree


def strategy(spec: str, tree: SubnetLookup, crawlers: Mapping[str, IPAddress | None]) -> Strategy:
    """A delegation strategy, such as "ipmicra@50" or "adaptive", that knows these crawlers."""
    chosen = strategy_named(spec, tree, random.Random(0))  # noqa: S311 - repeatable, not secret
    for name, address in crawlers.items():
        chosen.on_crawler_joined(CrawlerProfile(CrawlerId(name), address))
    return chosen


def decide(
    chosen: Strategy,
    site: str,
    address: IPAddress,
    round_trip_ms: Callable[[str], float | None],
    now_s: float = 0.0,
) -> Decision:
    """Delegate one site. `round_trip_ms` is called with a crawler's name for each probe that is wanted."""

    def answer(probe: Probe) -> ProbeAnswer:
        measured_ms = round_trip_ms(probe.crawler)
        return ProbeAnswer(measured_ms, NoAnswer.TIMED_OUT if measured_ms is None else None)

    return drive(chosen.delegate(Target.of(site, address), now_s), answer)
