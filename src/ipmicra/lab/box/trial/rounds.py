"""Sites fetched by their owners, round by round, and calibrated as the coordinator does it.

Invariant: alarms come from the kernel's round trips of the fetches; probes are made only where calibration
asks.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import NamedTuple

from ipmicra.delegation.calibration import (
    Calibration,
    CalibrationSettings,
    CalibrationVerdict,
    recalibrate,
)
from ipmicra.delegation.strategy import Strategy
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.trial.delegation_run import BoxDelegator
from ipmicra.lab.box.world.box_world import BoxSite, BoxWorld
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Source

SITES_AT_ONCE = 10


class RouteChange(NamedTuple):
    """A change of routes: from this crawler to these sites, and by how much."""

    crawler: str
    sites: frozenset[str]
    added_ms: float


class PlayedRound(NamedTuple):
    """The duration of some rounds, and the share of misassigned sites after each."""

    spent: dict[str, int]  # fetches, looks, probes, moves; fooled: moves of what is everywhere
    wrong: list[float]


class Rounds:
    """The crawl, round by round, and its calibration."""

    def __init__(
        self, world: BoxWorld, strategy: Strategy, agents: Agents, settings: CalibrationSettings
    ) -> None:
        self.world, self._strategy, self._agents = world, strategy, agents
        self._delegator = BoxDelegator(world, strategy, agents)
        self._calibration = Calibration(settings)
        self._everywhere = {site.name for site in world.file.sites if is_everywhere(site)}
        self.spent: Counter[str] = Counter()
        self.slower: RouteChange | None = None

    async def begin(self) -> None:
        await self._delegator.delegate_all(self.world.file.sites)

    async def play(self, rounds: int) -> PlayedRound:
        """Play the given number of rounds, with one fetch from every site each."""
        self.spent.clear()
        wrong = []
        for _ in range(rounds):
            room = asyncio.Semaphore(SITES_AT_ONCE)
            await asyncio.gather(*(self._visit(site, room) for site in self.world.file.sites))
            wrong.append(self.wrong_share())
        keys = ("fetches", "looks", "probes", "moves", "fooled")
        return PlayedRound({key: self.spent[key] for key in keys}, wrong)

    def owner(self, site: BoxSite) -> str:
        found = self._strategy.owner_of(self._delegator.target(site))
        assert found is not None, "every site was delegated at the beginning"
        return found

    def wrong_share(self) -> float:
        """Sites whose owner could be relieved by a move that is worth it, by the truth."""
        return sum(self._is_wrong(site) for site in self.world.file.sites) / len(self.world.file.sites)

    def _is_wrong(self, site: BoxSite) -> bool:
        if site.name in self._everywhere:
            return False
        true_ms = {
            crawler.name: self.world.crawler_to_site_ms(crawler, site)
            for crawler in self.world.file.crawlers
        }
        if self.slower is not None and site.name in self.slower.sites:
            true_ms[self.slower.crawler] += self.slower.added_ms
        return self._calibration.is_worth_moving(true_ms[self.owner(site)], min(true_ms.values()))

    async def _visit(self, site: BoxSite, room: asyncio.Semaphore) -> None:
        async with room:
            owner, target = self.owner(site), self._delegator.target(site)
            found = await self._agents.download(owner, f"http://{site.name}/")
            self.spent["fetches"] += 1
            if found.round_trip_ms is None:
                return
            seen_ms, now_s, crawler = found.round_trip_ms, time.monotonic(), CrawlerId(owner)
            self._strategy.learn(Measurement(crawler, target.address, seen_ms, now_s, Source.PASSIVE))
            unit = self._strategy.unit_of(target)
            if self._calibration.observe(unit, crawler, seen_ms, now_s) is CalibrationVerdict.LOOK_AGAIN:
                await self._look(site, seen_ms)

    async def _look(self, site: BoxSite, seen_ms: float) -> None:
        target = self._delegator.target(site)
        self.spent["looks"] += 1
        talk = recalibrate(self._strategy, self._calibration, target, seen_ms, time.monotonic())
        result, asked = await self._delegator.converse(talk)
        self.spent["probes"] += len(asked)
        if result is not None and result.moved:
            self.spent["moves"] += 1
            self.spent["fooled"] += site.name in self._everywhere


def is_everywhere(site: BoxSite) -> bool:
    """A CDN, or anycast: near to everyone, so wrong with no crawler."""
    return len(site.stands) > 1 or len(site.stands[0].places) > 1
