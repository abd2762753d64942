"""The sites of a host -> a crawler at work on them, started and stopped as the host decides.

Frontier, spool and an engine with a metered fetcher, in one process: the host's own, or one in a
sandbox, which gets another fetcher (`web_for`). The rest of the host knows only `HostedCrawler`.

Invariant: links are followed only on assigned sites. After a stop every page is either committed or will
be fetched again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from ipmicra.carrier.package import PackageFile
from ipmicra.carrier.spool import Spool, SpoolPosition
from ipmicra.crawler.crawl import fetcher_for, seal_rules
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.frontier import Counts, DiscoveredUrl, Frontier
from ipmicra.crawler.parsing.pool import ParserLimits, ParserPool
from ipmicra.crawler.plan import CrawlPlan, plan_from
from ipmicra.crawler.politeness_gate import PolitenessGate
from ipmicra.errors import HostFault
from ipmicra.host import site_state_file
from ipmicra.host.hosted.interface import HeldSites
from ipmicra.host.limits.metered_fetcher import MeteredFetcher, Metering
from ipmicra.host.measuring.page_observation import PageObserver
from ipmicra.host.settings import HostingSettings
from ipmicra.host.store import HeldSite
from ipmicra.model.fetches import Fetcher
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site
from ipmicra.net.dns_resolver import DnsAnswer, DnsResolver, Resolver
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.protocol.host_messages import PageObservation

FRONTIER_FILE = "frontier.sqlite"
SPOOL_FOLDER = "spool"
DEFAULT_LIMITS = ParserLimits()
RELEASE_GRACE_SECONDS = (
    1.5  # for requests to a site that is released; a stop that waits behind it has 2 s
)


class PinnedResolver:
    """DNS, but the name of an assigned site is at the address that was probed, as long as DNS lists
    it.
    """

    def __init__(self, within: Resolver, held: HeldSites) -> None:
        self._within, self._held = within, held

    async def resolve(self, name: str) -> DnsAnswer:
        answer = await self._within.resolve(name)
        pinned = self._held.pins().get(name)
        kept = tuple(address for address in answer.addresses if str(address) == pinned)
        return DnsAnswer(kept, answer.ttl_seconds) if kept else answer

    async def close(self) -> None:
        await self._within.close()


def direct_fetcher(settings: HostingSettings, held: HeldSites) -> Fetcher:
    """A fetcher that resolves names and connects from this process."""
    resolver = PinnedResolver(DnsResolver(settings.fetching.dns_servers), held)
    return fetcher_for(settings.crawler, settings.fetching, resolver)


class InProcessCrawler:
    """A crawler in this process. By default it connects directly."""

    def __init__(
        self,
        folder: Path,
        name: str,
        settings: HostingSettings,
        meter: Metering,
        web_for: Callable[[HostingSettings, HeldSites], Fetcher] = direct_fetcher,
        parsers: ParserLimits | None = DEFAULT_LIMITS,
        was_ended: bool = False,
    ) -> None:
        """Without `parsers` no process is started for large pages. `was_ended`: see `Engine`."""
        self.held = HeldSites()
        self.passive = PassiveRoundTrips(settings.probing)
        self._folder, self._meter, self.settings = folder, meter, settings
        self._web_for = web_for
        plan = self._plan()
        self.frontier = Frontier(folder / FRONTIER_FILE, plan.budget, plan.traps)
        try:
            position = self.frontier.spool_position() or SpoolPosition(1, 0)
            rules = seal_rules(settings.crawler)
            self.spool = Spool(folder / SPOOL_FOLDER, name, position, rules)
        except BaseException:
            self.frontier.close()
            raise
        self._observer, self._gate = PageObserver(), PolitenessGate(self.frontier.address_clock)
        self._parsers, self._was_ended = ParserPool(parsers), was_ended
        self._engine: Engine | None = None
        self._is_consistent = True  # not after a failed transaction: its records would be sent twice
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        await self._parsers.close()
        self.spool.close()
        self.frontier.close()

    # --- its work -----------------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        return self._task is not None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def stop(self, grace_seconds: float) -> None:
        if self._task is None:
            return
        if self._engine is not None:
            self._engine.stop()
        _, late = await asyncio.wait([self._task], timeout=grace_seconds)
        for task in late:
            task.cancel()
            await asyncio.wait([task])
        self.check()

    def drain(self) -> None:
        if self._engine is not None:
            self._engine.stop()

    def check(self) -> None:
        if self._task is not None and self._task.done():
            self._check()

    def _check(self) -> None:
        if self._engine is not None:
            self._is_consistent = self._engine.is_consistent
        task, self._task, self._engine = self._task, None, None
        if task is not None and not task.cancelled():
            task.result()

    async def observe(self, url: str) -> PageObservation:
        web = self._web_for(self.settings, self.held)
        async with MeteredFetcher(web, self._meter, self.passive) as fetcher:
            gate = self._gate if self._engine is None else self._engine.politeness
            return await self._observer.observe(fetcher, url, self._plan(), gate, self._parsers)

    async def _run(self) -> None:
        if not self._is_consistent:
            raise HostFault("crawling cannot continue: a transaction failed before; start again")
        fetching = msgspec.structs.replace(
            self.settings.fetching,
            idle_connections_max=self.settings.host.connections_max
            - self.settings.host.connections_in_use_max(),
        )
        settings = msgspec.structs.replace(self.settings, fetching=fetching)
        web = self._web_for(settings, self.held)
        async with MeteredFetcher(web, self._meter, self.passive) as fetcher:
            self._engine = Engine(
                self._plan(),
                self.frontier,
                self.spool,
                fetcher,
                parsers=self._parsers,
                was_ended=self._was_ended,
            )
            self._was_ended = False
            await self._engine.run([])

    def _plan(self) -> CrawlPlan:
        """The plan from the settings, watching, within the owner's limits."""
        crawler = msgspec.structs.replace(
            self.settings.crawler,
            sites_open_max=min(
                self.settings.crawler.sites_open_max, self.settings.host.sites_open_max()
            ),
        )
        redirects_max = self.settings.fetching.redirects_max
        return plan_from(crawler, self.held, redirects_max=redirects_max, watch=True)

    # --- its sites ----------------------------------------------------------------------------------

    def add_site(self, held: HeldSite) -> None:
        if held.site not in self.held.addresses:
            self._forget_links()
        self.held.addresses[Site(held.site)] = held.address

    async def enqueue(self, urls: Iterable[str]) -> None:
        normaliser = self._plan().normaliser
        found = [url for url in map(normaliser.url, urls) if url is not None and self.held.holds(url)]
        discoveries = [DiscoveredUrl(url, 0, 0) for url in found]
        if self._engine is not None:
            self._engine.add(discoveries)
        else:
            self.frontier.add(discoveries)

    async def force_full_resend(self, urls: Iterable[str]) -> None:
        normaliser = self._plan().normaliser
        held = [url for url in map(normaliser.url, urls) if url is not None and self.held.holds(url)]
        if self._engine is not None:
            self._engine.send_whole(held)
        else:
            self.frontier.force_full_resend(held, int(time.time() * 1000))

    async def import_site(self, state: bytes) -> Site:
        return self.frontier.import_site(site_state_file.chunks_in(state))

    async def export_site(self, site: Site, epoch: SiteEpoch) -> str | None:
        if self._engine is not None:
            await self._engine.close_site(site, RELEASE_GRACE_SECONDS)
        self.held.addresses.pop(site, None)
        chunks = self.frontier.export_site(site)
        return site_state_file.write_state(self._folder / site_state_file.FOLDER, site, epoch, chunks)

    async def forget_site(self, site: Site) -> None:
        self.held.addresses.pop(site, None)
        if self._engine is not None:
            await self._engine.close_site(site)
        self.frontier.forget_site(site)
        self._forget_links()

    def counts(self) -> Counts:
        return self.frontier.counts()

    # --- its files ----------------------------------------------------------------------------------

    def state_bytes(self, name: str) -> bytes:
        return (self._folder / site_state_file.FOLDER / name).read_bytes()

    def remove_state(self, name: str) -> None:
        (self._folder / site_state_file.FOLDER / name).unlink(missing_ok=True)

    async def seal(self) -> bool:
        if self._engine is not None:
            return await self._engine.seal()
        return self._is_consistent and self.spool.seal() is not None

    async def next_package(self) -> int:
        return self.spool.position.sequence

    def waiting_packages(self) -> list[PackageFile]:
        return self.spool.waiting()

    def package_bytes(self, package: PackageFile) -> bytes:
        return package.path.read_bytes()

    def acknowledge(self, package: PackageFile) -> None:
        self.spool.acknowledge(package)

    def _forget_links(self) -> None:
        if self._engine is not None:
            self._engine.response_handler.clear_seen_links()
