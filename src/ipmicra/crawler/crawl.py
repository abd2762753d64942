"""Settings and a request -> one crawl, run with its frontier, spool and fetcher opened and closed.

A crawl has a name, and under the data folder a frontier and a spool of that name; run again, it goes on
where it was. Invariant: without a contact nothing outside of the opened address ranges is asked for
anything.
"""

from __future__ import annotations

import gc
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from ipmicra import __version__
from ipmicra.addresses import BITS, gaps_between
from ipmicra.carrier.allocator import tune_allocator
from ipmicra.carrier.resend_requests import clear_requests, requests_in
from ipmicra.carrier.spool import FOLDER as SPOOL_FOLDER
from ipmicra.carrier.spool import SealRules, Spool, SpoolPosition
from ipmicra.carrier.warc import WarcWriter
from ipmicra.crawler.archiving_fetcher import ArchivingFetcher
from ipmicra.crawler.decisions.partition import owner_of
from ipmicra.crawler.decisions.scope import ScopeKind, scope_around
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.crawler.frontier import Counts, DiscoveredUrl, Frontier
from ipmicra.crawler.multiprocess.mailbox import FOLDER as PARCELS_FOLDER
from ipmicra.crawler.multiprocess.mailbox import Mailbox
from ipmicra.crawler.multiprocess.partition import SitePartition
from ipmicra.crawler.page_limit import PageLimit
from ipmicra.crawler.parsing.pool import ParserLimits, ParserPool
from ipmicra.crawler.plan import CrawlPlan, plan_from
from ipmicra.crawler.progress import Progress
from ipmicra.crawler.settings import CrawlerSettings, CrawlSettings
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetcher, FetchFailed
from ipmicra.model.urls import Normaliser, Url, name_of, site_of
from ipmicra.net.address_guard import ranges_of
from ipmicra.net.dns_resolver import Resolver
from ipmicra.net.tcp_connector import Connector

FRONTIER_FOLDER = "frontier"  # under the data folder; a file a crawl in it


class Share(NamedTuple):
    """The number of this process, from 0, and the number of all processes of one crawl."""

    number: int
    processes: int

    @property
    def suffix(self) -> str:
        """The suffix of the process's files: empty if there is only one process."""
        return f".{self.number + 1}of{self.processes}" if self.processes > 1 else ""


ALONE = Share(0, 1)


@dataclass(frozen=True)
class CrawlRequest:
    """The sites to crawl."""

    seeds: tuple[str, ...]
    scope: ScopeKind = "site"
    pattern: str | None = None
    pages_max: int | None = None
    depth_max: int | None = None
    watch: bool = False
    name: str | None = None
    warc: Path | None = None  # also archive every answer there
    share: Share = ALONE


class Crawl:
    """One named crawl: its plan, its places on disk, and its seeds."""

    def __init__(self, settings: CrawlSettings, request: CrawlRequest, was_ended: bool = False) -> None:
        """`was_ended`: see `Engine`."""
        self.settings, self.request, self._was_ended = settings, request, was_ended
        self.seeds = _seeds(request, Normaliser(settings.crawler.dropped_parameters))
        self.plan = _plan(settings, request, self.seeds)
        self.crawl_name = _checked_name(request.name) if request.name else _name_from(self.seeds)
        self.name = f"{self.crawl_name}{request.share.suffix}"
        self.frontier_path = settings.data_folder / FRONTIER_FOLDER / f"{self.name}.sqlite"
        self.spool_folder = settings.data_folder / SPOOL_FOLDER / self.name

    def fetcher(self) -> Fetcher:
        """A fetcher with our User-Agent, which also archives responses if that was requested."""
        if self.request.warc is None:
            return fetcher_for(self.settings.crawler, self.settings.fetching)
        stem, dot, ending = self.request.warc.name.partition(".")
        path = self.request.warc.with_name(f"{stem}{self.request.share.suffix}{dot}{ending}")
        writer = WarcWriter(path, time.time_ns() // 1_000_000)
        return ArchivingFetcher(fetcher_for(self.settings.crawler, self.settings.fetching), writer)

    @contextmanager
    def open_stores(self) -> Iterator[tuple[Frontier, Spool]]:
        """The frontier, and the spool up to the position that the frontier has committed."""
        frontier = Frontier(self.frontier_path, self.plan.budget, self.plan.traps)
        try:
            self._check_same_scope(frontier)
            self._widen_scope(frontier)
            position = frontier.spool_position() or SpoolPosition(1, 0)
            spool = Spool(self.spool_folder, self.name, position, seal_rules(self.settings.crawler))
            try:
                yield frontier, spool
            finally:
                spool.close()
        finally:
            frontier.close()

    async def run(
        self,
        on_commit: Callable[[Progress, Counts], None] = lambda _progress, _counts: None,
        on_start: Callable[[Engine], None] = lambda _engine: None,
        limit: PageLimit | None = None,
    ) -> tuple[Progress, Counts]:
        """Crawl until done or stopped, in its own event loop. Raises a Fault."""
        try:
            return await self._run(on_commit, on_start, limit)
        except (OSError, sqlite3.DatabaseError, ExceptionGroup) as error:
            cause = _first_cause(error)
            if not isinstance(cause, OSError | sqlite3.DatabaseError):
                raise cause from error
            place = self.settings.data_folder if isinstance(cause, OSError) else self.frontier_path
            raise HostFault(
                f"crawling {self.name!r}: {place}: {cause}; fix this, and run the same command "
                "again: it continues from the stored state"
            ) from error

    async def _run(
        self,
        on_commit: Callable[[Progress, Counts], None],
        on_start: Callable[[Engine], None],
        limit: PageLimit | None,
    ) -> tuple[Progress, Counts]:
        with self.open_stores() as (frontier, spool):
            async with (
                self.fetcher() as fetcher,
                ParserPool(parser_limits(self.settings.crawler)) as pool,
            ):
                await self.check_contact(fetcher)
                engine = Engine(
                    self.plan,
                    frontier,
                    spool,
                    fetcher,
                    lambda progress: on_commit(progress, frontier.counts()),
                    limit,
                    self._partition(frontier),
                    pool,
                    self._was_ended,
                )
                self._resend_requested(frontier)
                frontier.retry_failed(self._own_seeds(), int(time.time() * 1000))
                on_start(engine)
                progress = await engine.run([DiscoveredUrl(seed, 0, 0) for seed in self._own_seeds()])
                _remember_outcome(frontier, progress)
            return progress, frontier.counts()

    def _resend_requested(self, frontier: Frontier) -> None:
        """Visit pages now that the reader of the packages lacks, and send them in full."""
        requested = requests_in(self.spool_folder)
        urls = [url for url in map(self.plan.normaliser.url, requested) if url is not None]
        if requested:
            frontier.force_full_resend(urls, int(time.time() * 1000))
            clear_requests(self.spool_folder)

    def mailbox(self) -> Mailbox:
        """The mailbox between the processes of this crawl."""
        folder = self.settings.data_folder / PARCELS_FOLDER / self.crawl_name
        return Mailbox(folder, *self.request.share)

    def _partition(self, frontier: Frontier) -> SitePartition | None:
        return SitePartition(frontier, self.mailbox()) if self.request.share.processes > 1 else None

    def _own_seeds(self) -> list[Url]:
        """The seeds of this process; one whose address belongs to another process goes there like any
        link.
        """
        number, processes = self.request.share
        return [seed for seed in self.seeds if owner_of(site_of(seed), processes) == number]

    def _check_same_scope(self, frontier: Frontier) -> None:
        scope = f"{self.request.scope} {self.request.pattern or ''}".strip()
        begun_with = frontier.fact("scope")
        if begun_with is None:
            frontier.set_fact("scope", scope)
        elif begun_with != scope:
            raise OperatorFault(
                f"the crawl {self.name!r} was started with --scope {begun_with}, not {scope}; "
                "choose another --name for this one"
            )

    def _widen_scope(self, frontier: Frontier) -> None:
        """Widen the scope to all seeds that the crawl ever had: pages of earlier ones may still be
        queued.
        """
        before = frontier.fact("seeds") or ""
        seeds = list(dict.fromkeys([*map(Url, before.split()), *self.seeds]))
        if len(seeds) > len(before.split()):
            frontier.set_fact("seeds", "\n".join(seeds))
        if len(seeds) > len(self.seeds):
            scope = scope_around(seeds, self.request.scope, self.request.pattern)
            self.plan = replace(self.plan, scope=scope)

    async def check_contact(self, fetcher: Fetcher) -> None:
        """Raise OperatorFault when a seed is on the Internet and no contact is set."""
        for seed in self.seeds:
            located = await fetcher.locate(seed)
            refused = isinstance(located, FetchFailed) and located.kind is FailureKind.REFUSED_ADDRESS
            if refused and not self.settings.crawler.contact:
                raise OperatorFault(f"crawling {seed}: {NO_CONTACT}")


FAILED_FACT = "failed"  # in the frontier: why the last run brought no page; empty where it brought one
NO_CONTACT = (
    "its address is not among the opened ranges, and no contact is set. On the Internet, set "
    "crawler.contact to a URL or mail address that owners of sites can turn to; for a site of your own "
    "on this machine or an intranet, open its range (--allow-range 127.0.0.0/8, fetching.open_ranges)"
)


def parser_limits(crawler: CrawlerSettings) -> ParserLimits:
    return ParserLimits(
        seconds_max=crawler.parser_seconds_max, bytes_max=crawler.parser_memory_bytes_max
    )


def seal_rules(crawler: CrawlerSettings) -> SealRules:
    return SealRules(
        records_max=crawler.package_records_max,
        journal_bytes_max=crawler.package_bytes_max,
        age_s_max=crawler.package_seconds_max,
        level=crawler.package_level,
    )


def fetcher_for(
    crawler: CrawlerSettings,
    fetching: FetchingSettings,
    resolver: Resolver | None = None,
    connector: Connector | None = None,
) -> Fetcher:
    """A fetcher with our User-Agent."""
    contact = f" (+{crawler.contact})" if crawler.contact else ""
    user_agent = f"{crawler.product}/{__version__}{contact}"
    return WebFetcher(allowed_fetching(crawler, fetching), user_agent, resolver, connector)


def allowed_fetching(crawler: CrawlerSettings, fetching: FetchingSettings) -> FetchingSettings:
    """The settings for connecting: without a contact, only opened ranges are allowed."""
    if crawler.contact:
        return fetching
    opened = ranges_of(fetching.open_ranges, "fetching.open_ranges")
    closed = [str(gap) for family in BITS for gap in gaps_between(opened, family)]
    return msgspec.structs.replace(fetching, closed_ranges=(*fetching.closed_ranges, *closed))


_BARE_NAME = re.compile(r"[\w.-]+\.[\w-]+(:\d+)?([/?].*)?")  # example.org, without a scheme


def _seeds(request: CrawlRequest, normaliser: Normaliser) -> tuple[Url, ...]:
    seeds = []
    for text in request.seeds:
        url = normaliser.url(f"https://{text}" if _BARE_NAME.fullmatch(text) else text)
        if url is None:
            raise OperatorFault(f"{text!r} is not a valid URL; example: https://example.org/")
        if "*" in name_of(site_of(url)):
            raise OperatorFault(
                f"{text!r} names no site: a wildcard cannot be looked up; give one address and --scope domain"
            )
        seeds.append(url)
    return tuple(dict.fromkeys(seeds))


def _plan(settings: CrawlSettings, request: CrawlRequest, seeds: Sequence[Url]) -> CrawlPlan:
    if (request.scope == "pattern") != (request.pattern is not None):
        raise OperatorFault("--scope pattern needs a --pattern, and the other scopes take none")
    try:
        scope = scope_around(seeds, request.scope, request.pattern)
    except re.error as error:
        raise OperatorFault(
            f"--pattern {request.pattern!r} is not a regular expression: {error}"
        ) from error
    return plan_from(
        settings.crawler,
        scope,
        pages_max=request.pages_max,
        depth_max=request.depth_max,
        redirects_max=settings.fetching.redirects_max,
        watch=request.watch,
    )


def _remember_outcome(frontier: Frontier, progress: Progress) -> None:
    """A run that had nothing to do ends as the one before it did: failed, if that one failed."""
    if progress.seen or progress.unchanged:
        frontier.set_fact(FAILED_FACT, "")
    elif progress.failures:
        frontier.set_fact(FAILED_FACT, progress.last_failure)
    elif not progress.pages:
        progress.last_failure = frontier.fact(FAILED_FACT) or ""


def _first_cause(error: Exception) -> Exception:
    """The first error, if several tasks ended because of it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


_NAME = re.compile(r"(?!.*\.\d+of\d+$)\w[\w.+-]{0,99}")  # it names files; .1of2 sets processes apart


def _checked_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise OperatorFault(
            f"--name {name!r}: a crawl's name names files: write letters, digits, dots and dashes"
        )
    return name


def _name_from(seeds: Sequence[Url]) -> str:
    sites = sorted({site_of(seed).partition("://")[2] for seed in seeds})
    return re.sub(r"[^A-Za-z0-9.]+", "-", "+".join(sites)).strip("-.")[:100]


def crawl_names(data_folder: Path) -> list[str]:
    """The crawls that have been started under the data folder."""
    return sorted(path.stem for path in (data_folder / FRONTIER_FOLDER).glob("*.sqlite"))


def tune_process() -> None:
    """Tell the allocator not to return memory after every page, and the garbage collector to run less
    often.

    A crawl's garbage has no cycles worth the default thresholds. A full journal's records are fewer objects
    than the threshold, and so are not walked through while they wait to be sealed.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    tune_allocator()
