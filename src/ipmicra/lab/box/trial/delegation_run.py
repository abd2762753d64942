"""A strategy, sites and agents -> the crawler of each site, decided by real probes in the box.

The driver of the box's world: where the simulator reads a matrix, an agent in the crawler's namespace
measures. Several sites are under way at once, as with the coordinator. After each decision the chosen
crawler fetches robots.txt, as a crawl does first, and the strategy receives the kernel's round trip of
it.

Invariant: the strategy receives only the name of a site and its address by DNS, never the true round
trips.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import random
import time
from collections.abc import Collection, Generator, Sequence
from typing import NamedTuple, TypeVar

from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.driver import drive_async
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.errors import OurFault
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.world.box_world import BoxSite, BoxWorld
from ipmicra.lab.box.world.web import BoxNameServer
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, NoAnswer, Probe, ProbeAnswer, Source, Target

SITES_AT_ONCE = 8
DelegationResult = TypeVar("DelegationResult")


class DelegatedSites(NamedTuple):
    """The result for one site."""

    site: BoxSite
    crawler: str
    probes: int
    free: bool  # the chosen crawler was probed: its first fetch measures the same


def strategy_in(
    world: BoxWorld, spec: str, tree: SubnetLookup, capacity_bytes_a_day: float = math.inf
) -> Strategy:
    """A strategy that knows the crawlers and nothing else, as the coordinator would make it."""
    dice = random.Random(f"{world.file.seed}/{spec}")  # noqa: S311 - repeatable, not secret
    strategy = strategy_named(spec, tree, dice)
    places = {place.name: place for place in world.file.places}
    for crawler in world.file.crawlers:
        place = places[crawler.place]
        position = None
        if place.latitude is not None and place.longitude is not None:
            position = GeoPosition(place.latitude, place.longitude)
        strategy.on_crawler_joined(
            CrawlerProfile(
                id=CrawlerId(crawler.name),
                address=ipaddress.ip_address(crawler.addresses[0]),
                capacity_bytes_a_day=capacity_bytes_a_day,
                country=place.country or None,
                position=position,
            )
        )
    return strategy


class BoxDelegator:
    """Lets one strategy delegate, and answers its probes."""

    def __init__(self, world: BoxWorld, strategy: Strategy, agents: Agents) -> None:
        self._strategy, self._agents = strategy, agents
        self._addresses_of = BoxNameServer(world).seen_from(world.file.coordinator.addresses[0])

    async def delegate_all(
        self, sites: Sequence[BoxSite], at_once: int = SITES_AT_ONCE
    ) -> list[DelegatedSites]:
        """All sites, begun in their order."""
        room = asyncio.Semaphore(at_once)

        async def one(site: BoxSite) -> DelegatedSites:
            async with room:
                return await self.delegate(site)

        return list(await asyncio.gather(*(one(site) for site in sites)))

    async def delegate(self, site: BoxSite) -> DelegatedSites:
        target = self.target(site)
        decision, asked = await self.converse(self._strategy.delegate(target, time.monotonic()))
        if decision.crawler is None:
            raise OurFault(f"the strategy delegated {site.name} to no crawler: {decision.explanation()}")
        await self._first_fetch(target, decision.crawler)
        return DelegatedSites(site, decision.crawler, len(asked), decision.crawler in asked)

    def target(self, site: BoxSite) -> Target:
        return Target.of(site.name, *(self._addresses_of(site.name) or ()))

    async def converse(
        self, talk: Generator[Probe, ProbeAnswer, DelegationResult]
    ) -> tuple[DelegationResult, list[str]]:
        """Answer all probes of a probe task: its result, and the crawlers that were asked."""
        asked: list[str] = []

        async def answer(probe: Probe) -> ProbeAnswer:
            asked.append(probe.crawler)
            return await self._answer(probe.crawler, probe.target)

        return await drive_async(talk, answer), asked

    async def _answer(self, crawler: str, target: Target) -> ProbeAnswer:
        found = await self._agents.probe(crawler, str(target.address), f"http://{target.site}")
        silence = None if found.silence is None else NoAnswer(found.silence)
        return ProbeAnswer(found.round_trip_ms, silence)

    async def _first_fetch(self, target: Target, crawler: CrawlerId) -> None:
        found = await self._agents.download(crawler, f"http://{target.site}/robots.txt")
        if found.round_trip_ms is not None:
            now_s = time.monotonic()
            self._strategy.learn(
                Measurement(crawler, target.address, found.round_trip_ms, now_s, Source.PASSIVE)
            )


def excess_ms(world: BoxWorld, chosen: DelegatedSites, among: Collection[str] | None = None) -> float:
    """How much farther the chosen crawler truly is than the nearest of those (default: of all)."""
    crawlers = [crawler for crawler in world.file.crawlers if among is None or crawler.name in among]
    true_ms = {crawler.name: world.crawler_to_site_ms(crawler, chosen.site) for crawler in crawlers}
    return true_ms[chosen.crawler] - min(true_ms.values())
