"""The sites a host holds -> a crawler at work on them, begun and ended as the dock decides.

This file is the one place where a crawler is started (`Crawler._run`), and so the seam for running
dispatched code in a sandbox: what stands here in one process (frontier, spool, an engine with a metered
fetcher) is what would move behind a pipe; everything else in the dock talks to `Crawler` alone.

Law: links are followed only on sites that are held. A stop leaves every page either committed or to be
fetched again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ipmicra.carrier.spool import Position, Spool
from ipmicra.crawler.decisions.urls import Site, Url, name_of, site_of
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.fetching.exchange import Fetcher
from ipmicra.crawler.fetching.resolving import DnsResolver, NameAnswer, Resolver
from ipmicra.crawler.frontier import Counts, Discovery, Frontier
from ipmicra.crawler.plan import CrawlPlan, plan_from
from ipmicra.crawler.running import fetcher_for, seal_rules
from ipmicra.dock import states
from ipmicra.dock.ledger import HeldSite
from ipmicra.dock.meter import Meter
from ipmicra.dock.metered import MeteredFetcher
from ipmicra.probing.passive import PassiveRoundTrips
from ipmicra.settings import Settings

FRONTIER_FILE = "frontier.sqlite"
SPOOL_FOLDER = "spool"


class HeldSites:
    """The bounds of the crawl: the sites that are this host's now, with the address each is crawled at."""

    def __init__(self) -> None:
        self.addresses: dict[Site, str] = {}

    def holds(self, url: Url) -> bool:
        return site_of(url) in self.addresses

    def pins(self) -> dict[str, str]:
        """Addresses by name."""
        return {name_of(site): address for site, address in self.addresses.items() if address}


class PinnedResolver:
    """DNS, but a held site's name is at the address that was probed, as long as DNS lists that."""

    def __init__(self, within: Resolver, held: HeldSites) -> None:
        self._within, self._held = within, held

    async def resolve(self, name: str) -> NameAnswer:
        answer = await self._within.resolve(name)
        pinned = self._held.pins().get(name)
        kept = tuple(address for address in answer.addresses if str(address) == pinned)
        return NameAnswer(kept, answer.ttl_seconds) if kept else answer

    async def close(self) -> None:
        await self._within.close()


class Crawler:
    """The crawler that lives on this host. Close it; stop it before."""

    def __init__(self, folder: Path, name: str, settings: Settings, meter: Meter) -> None:
        self.held = HeldSites()
        self.passive = PassiveRoundTrips(settings.probing)
        self._folder, self._meter, self.settings = folder, meter, settings
        plan = self._plan()
        self.frontier = Frontier(folder / FRONTIER_FILE, plan.budget, plan.traps)
        try:
            position = self.frontier.spool_position() or Position(1, 0)
            rules = seal_rules(settings.crawler)
            self.spool = Spool(folder / SPOOL_FOLDER, name, position, rules)
        except BaseException:
            self.frontier.close()
            raise
        self.web: Fetcher | None = None  # while it works: unmetered, for probes by HEAD
        self._engine: Engine | None = None
        self._task: asyncio.Task[None] | None = None

    def close(self) -> None:
        self.spool.close()
        self.frontier.close()

    # --- its work -----------------------------------------------------------------------------------

    @property
    def is_working(self) -> bool:
        return self._task is not None

    def start(self) -> None:
        """Begin to work, if it does not."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def stop(self, grace_seconds: float) -> None:
        """Begin nothing more; what is still under way after the grace is broken off."""
        if self._task is None:
            return
        if self._engine is not None:
            self._engine.stop()
        _, late = await asyncio.wait([self._task], timeout=grace_seconds)
        if late:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._check()

    def drain(self) -> None:
        """Begin nothing more."""
        if self._engine is not None:
            self._engine.stop()

    def check(self) -> None:
        """Raise what has ended the work, if it was a defect."""
        if self._task is not None and self._task.done():
            self._check()

    def _check(self) -> None:
        task, self._task, self._engine, self.web = self._task, None, None, None
        if task is not None and not task.cancelled():
            task.result()

    async def _run(self) -> None:
        fetching = msgspec.structs.replace(
            self.settings.fetching,
            idle_connections_max=self.settings.host.connections_max
            - self.settings.host.connections_in_use_max(),
        )
        settings = msgspec.structs.replace(self.settings, fetching=fetching)
        resolver = PinnedResolver(DnsResolver(fetching.dns_servers), self.held)
        self.web = web = fetcher_for(settings, resolver)
        async with MeteredFetcher(web, self._meter, self.passive) as fetcher:
            self._engine = Engine(self._plan(), self.frontier, self.spool, fetcher)
            await self._engine.run([])

    def _plan(self) -> CrawlPlan:
        """The settings' plan, watching, within the owner's limits."""
        crawler = msgspec.structs.replace(
            self.settings.crawler,
            sites_open_max=min(
                self.settings.crawler.sites_open_max, self.settings.host.sites_open_max()
            ),
        )
        redirects_max = self.settings.fetching.redirects_max
        return plan_from(crawler, self.held, redirects_max=redirects_max, watch=True)

    # --- its sites ----------------------------------------------------------------------------------

    def hold(self, held: HeldSite) -> None:
        """Links to the site are followed from now on."""
        if held.site not in self.held.addresses:
            self._forget_links()
        self.held.addresses[Site(held.site)] = held.address

    def give(self, urls: Iterable[str]) -> None:
        """URLs of held sites to be crawled; durable on return."""
        normaliser = self._plan().normaliser
        found = [url for url in map(normaliser.url, urls) if url is not None and self.held.holds(url)]
        discoveries = [Discovery(url, 0, 0) for url in found]
        if self._engine is not None:
            self._engine.add(discoveries)
        else:
            self.frontier.add(discoveries)

    def take_over(self, state: bytes) -> Site:
        """Go on where a former crawler of a site was. The site must not be held yet."""
        return self.frontier.import_site(states.chunks_in(state))

    async def release(self, site: Site, epoch: int) -> str | None:
        """Stop crawling a site at once. Returns the name of the file that has its state, if it has any."""
        self.held.addresses.pop(site, None)
        if self._engine is not None:
            await self._engine.close_site(site)
        chunks = self.frontier.export_site(site)
        return states.write_state(self._folder / states.FOLDER, site, epoch, chunks)

    async def forget(self, site: Site) -> None:
        """Nothing of the site is known here any more."""
        self.held.addresses.pop(site, None)
        if self._engine is not None:
            await self._engine.close_site(site)
        self.frontier.forget_site(site)
        self._forget_links()

    def counts(self) -> Counts:
        return self.frontier.counts()

    def _forget_links(self) -> None:
        if self._engine is not None:
            self._engine.harvester.forget_links()
