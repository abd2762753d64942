"""Strategies and a town -> how long each one's crawlers take to fetch the same pages, by real HTTP.

Every strategy delegates every site, asking by real probes from the crawlers' own addresses; then each
site's pages are fetched from there, one after another on one connection. Sites are fetched side by side to
save the watcher's time, but counted as if a crawler did one after another.

Invariant: a strategy receives the same input as in the live system: crawlers, their positions and round
trips to each other, answers to its probes, and the round trip of each first fetch.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import IPv4Address
from itertools import combinations

import msgspec

from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.driver import drive_async
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.errors import OurFault
from ipmicra.lab.demo.config import HOST_CITIES, DemoConfig
from ipmicra.lab.loopback.layout import COUNTRIES, POSITIONS, crawler_address, round_trip_ms
from ipmicra.lab.loopback.pages import MadeSite
from ipmicra.model.fetches import Fetched, FetchRequest
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Source, Target
from ipmicra.net.address_guard import AddressGuard
from ipmicra.probing.prober import Prober
from ipmicra.probing.settings import ProbingSettings

SITES_AT_ONCE = 12  # being fetched
DELEGATIONS_AT_ONCE = 6
USER_AGENT = "ipmicra-demo (demo@example.org)"

SiteOwners = Mapping[str, str]  # site's name -> crawler


class DemoDelegation(msgspec.Struct, frozen=True):
    """The crawler of each site, and the number of probes."""

    owners: dict[str, str]
    probes: int


class ComparisonResult(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table."""

    strategy: str
    crawl_s: float  # of the crawler that is ready last, one site after another
    total_s: float  # of all crawlers together
    round_trip_ms_mean: float  # per page, on a connection that stands
    nearest_share: float
    probes_per_site: float


class Comparison:
    """Delegates and fetches the town's sites, from fresh connections each time."""

    def __init__(self, town: DemoConfig, tree: SubnetLookup) -> None:
        self._town = town
        self._tree = tree

    @asynccontextmanager
    async def _fetchers(self) -> AsyncIterator[dict[str, WebFetcher]]:
        """One for each crawler, connecting from its address."""
        async with AsyncExitStack() as opened:
            yield {
                city: await opened.enter_async_context(WebFetcher(self._fetching(city), USER_AGENT))
                for city in HOST_CITIES
            }

    def _fetching(self, city: str) -> FetchingSettings:
        return FetchingSettings(
            dns_servers=(f"127.0.0.1:{self._town.names_port}",),
            open_ranges=("127.0.0.0/8",),
            source_address=str(crawler_address(city)),
        )

    # --- delegating ---------------------------------------------------------

    async def delegate(self, spec: str, advance: Callable[[], object]) -> DemoDelegation:
        """Every site, a few at a time, by a strategy that knows nothing yet."""
        strategy, gate = self._fresh(spec), asyncio.Semaphore(DELEGATIONS_AT_ONCE)

        async def one(address: IPv4Address, site: MadeSite) -> tuple[str, int]:
            async with gate:
                target = Target.of(self._town.url(site).rstrip("/"), address)
                crawler, asked = await _converse(strategy, target, self._town.web_port, probers)
                strategy.learn(_first_fetch(crawler, site, address))
                advance()
                return crawler, asked

        async with self._fetchers() as fetchers:
            probers = {city: _prober(fetcher) for city, fetcher in fetchers.items()}
            decided = await asyncio.gather(*(one(*pair) for pair in self._town.sites.items()))
        names = [site.name for site in self._town.sites.values()]
        owners = {name: crawler for name, (crawler, _) in zip(names, decided, strict=True)}
        return DemoDelegation(owners, sum(asked for _, asked in decided))

    def _fresh(self, spec: str) -> Strategy:
        strategy = strategy_named(spec, self._tree, random.Random(self._town.seed))  # noqa: S311 - no secret
        for city in HOST_CITIES:
            strategy.on_crawler_joined(
                CrawlerProfile(
                    id=CrawlerId(city),
                    address=crawler_address(city),
                    country=COUNTRIES[city],
                    position=GeoPosition(*POSITIONS[city]),
                )
            )
        for one, other in combinations(HOST_CITIES, 2):
            strategy.on_crawlers_measured(CrawlerId(one), CrawlerId(other), round_trip_ms(one, other))
        return strategy

    # --- fetching -----------------------------------------------------------

    async def run(
        self, name: str, delegated: DemoDelegation, advance: Callable[[], object]
    ) -> ComparisonResult:
        """Fetch everything from where it was delegated to."""
        gate = asyncio.Semaphore(SITES_AT_ONCE)

        async def one(site: MadeSite) -> tuple[str, float, list[float]]:
            async with gate:
                city = delegated.owners[site.name]
                seconds, round_trips_ms = await self._fetch(fetchers[city], site)
                advance()
                return city, seconds, round_trips_ms

        async with self._fetchers() as fetchers:
            fetched = await asyncio.gather(*(one(site) for site in self._town.sites.values()))
        by_crawler = dict.fromkeys(HOST_CITIES, 0.0)
        for city, seconds, _ in fetched:
            by_crawler[city] += seconds
        round_trips_ms = [ms for _, _, each in fetched for ms in each]
        return ComparisonResult(
            strategy=name,
            crawl_s=max(by_crawler.values()),
            total_s=sum(by_crawler.values()),
            round_trip_ms_mean=sum(round_trips_ms) / len(round_trips_ms),
            nearest_share=self._nearest_share(delegated.owners),
            probes_per_site=delegated.probes / len(self._town.sites),
        )

    async def _fetch(self, fetcher: WebFetcher, site: MadeSite) -> tuple[float, list[float]]:
        began = time.monotonic()
        round_trips_ms: list[float] = []
        for path in site.pages:
            outcome = await fetcher.fetch(FetchRequest(url=self._town.url(site, path)))
            if not isinstance(outcome, Fetched) or outcome.status != 200:
                raise OurFault(f"{self._town.url(site, path)} could not be fetched: {outcome}")
            if outcome.reused:
                round_trips_ms.append(outcome.timings.first_byte_ms)
        return time.monotonic() - began, round_trips_ms

    def _nearest_share(self, owners: SiteOwners) -> float:
        right = sum(
            owners[site.name] == min(HOST_CITIES, key=lambda city: round_trip_ms(city, site.city))
            for site in self._town.sites.values()
        )
        return right / len(self._town.sites)


async def _converse(
    strategy: Strategy, target: Target, port: int, probers: dict[str, Prober]
) -> tuple[str, int]:
    asked: list[Probe] = []

    async def answer(probe: Probe) -> ProbeAnswer:
        asked.append(probe)
        found = await probers[probe.crawler].probe(target.address, port, target.site)
        return ProbeAnswer(found.round_trip_ms, found.silence)

    decision = await drive_async(strategy.delegate(target, time.monotonic()), answer)
    if decision.crawler is None:
        raise OurFault(f"{target.site} was not delegated: {decision}")
    return decision.crawler, len(asked)


def _first_fetch(crawler: str, site: MadeSite, address: IPv4Address) -> Measurement:
    known_ms = round_trip_ms(crawler, site.city)
    return Measurement(CrawlerId(crawler), address, known_ms, time.monotonic(), Source.PASSIVE)


def _prober(fetcher: WebFetcher) -> Prober:
    """Asks twice, since the first answer has the handshake in it, and never goes by earlier fetches."""
    settings = ProbingSettings(ways=("answer",), tries=2, passive_seconds_max=0.0)
    return Prober(settings, AddressGuard(("127.0.0.0/8",)), fetcher=fetcher)
