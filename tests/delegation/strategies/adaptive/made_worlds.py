"""A seed -> a small world on a plane for the tests of `adaptive`: crawlers, towns, sites, round trips.

Countries are clusters of towns; each organisation is in one town, but for one cloud that is in all.
"""

from __future__ import annotations

import random
from ipaddress import IPv4Address

import numpy as np

from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.decision import Decision
from ipmicra.delegation.strategies.adaptive import Adaptive, AdaptiveSettings
from ipmicra.delegation.strategies.adaptive.arrays import Floats
from ipmicra.hierarchy import SubnetTree
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target
from ipmicra.testing.strategy_referee import tree_of
from tests.delegation.worlds import driven

COUNTRIES = ("DE", "US", "JP", "BR", "AU", "ZA")
CENTRES = ((50, 9), (40, -95), (36, 138), (-20, -47), (-33, 148), (-28, 26))
BLOCKS = 96  # /16s from 20.0.0.0 on; every sixteenth is the cloud's, whose /24s are anywhere
ROOMS = 24


class MadeWorld:
    """Places of sites and crawlers, and the round trips between them."""

    def __init__(self, seed: int, crawlers: int = 8) -> None:
        dice = np.random.default_rng(seed)
        self.seed = seed
        self.block_country = dice.integers(len(COUNTRIES), size=BLOCKS)
        self.towns = np.array(CENTRES)[self.block_country] + dice.normal(0, 3, (BLOCKS, 2))
        self.access_ms = dice.exponential(1.0, BLOCKS)
        self.cloud = np.array(CENTRES)[dice.integers(len(CENTRES), size=256)] + dice.normal(
            0, 1, (256, 2)
        )
        places = [index % len(CENTRES) for index in range(crawlers)]
        self.crawlers = np.array(CENTRES)[places] + dice.normal(0, 4, (crawlers, 2))
        self.order = dice.permutation(BLOCKS * 256)

    def tree(self) -> SubnetTree:
        records = []
        for block, country in enumerate(self.block_country):
            organisation = "cloud" if block % 16 == 15 else f"organisation {block}"
            records.append((f"20.{block}.0.0/16", organisation, COUNTRIES[country]))
        return tree_of(*records)

    def target(self, number: int) -> Target:
        value = int(self.order[number])
        address = IPv4Address(f"20.{value // 256}.{value % 256}.7")
        return Target.of(f"site-{value}.example", address)

    def round_trip_ms(self, crawler: int, target: Target) -> float:
        block, third = target.address.packed[1], target.address.packed[2]
        here = self.cloud[third] if block % 16 == 15 else self.towns[block]
        return 1.0 + float(self.access_ms[block]) + _apart_ms(self.crawlers[crawler], here)

    def nearest(self, target: Target) -> float:
        return min(self.round_trip_ms(number, target) for number in range(len(self.crawlers)))

    def strategy(self, positions: bool = True, **settings: float) -> Adaptive:
        """A strategy that knows all crawlers and their round trips to each other."""
        known = AdaptiveSettings(**settings)  # type: ignore[arg-type] # any of its fields
        strategy = Adaptive(self.tree(), random.Random(self.seed), known)
        for number in range(len(self.crawlers)):
            self.introduce(strategy, number, positions)
        return strategy

    def introduce(self, strategy: Adaptive, number: int, positions: bool = True) -> None:
        """One crawler joins and measures those that are there."""
        north, east = self.crawlers[number]
        position = GeoPosition(float(north), float(east)) if positions else None
        strategy.on_crawler_joined(CrawlerProfile(name_of(number), position=position))
        for other in range(len(self.crawlers)):
            if other != number and name_of(other) in strategy.crawlers:
                apart = 2.0 + _apart_ms(self.crawlers[number], self.crawlers[other])
                strategy.on_crawlers_measured(name_of(number), name_of(other), apart)

    def delegate(self, strategy: Adaptive, target: Target, afresh: bool = False) -> Decision:
        def tell(probe: Probe) -> ProbeAnswer:
            return ProbeAnswer(self.round_trip_ms(int(probe.crawler[1:]), target))

        return driven(strategy.delegate(target, 0.0, afresh=afresh), tell)


class CloudWorld(MadeWorld):
    """Machine rooms and crawlers anywhere; an address may be in any room, and gives no hint of it."""

    def __init__(self, seed: int, crawlers: int = 10) -> None:
        super().__init__(seed, crawlers)
        dice = np.random.default_rng(seed)
        self.rooms = dice.uniform((-50, -150), (60, 150), (ROOMS, 2))
        self.crawlers = dice.uniform((-50, -150), (60, 150), (crawlers, 2))
        self.room_of = dice.integers(ROOMS, size=(BLOCKS, 256))

    def round_trip_ms(self, crawler: int, target: Target) -> float:
        room = self.room_of[target.address.packed[1], target.address.packed[2]]
        return 1.0 + round(_apart_ms(self.crawlers[crawler], self.rooms[room]))


def name_of(number: int) -> CrawlerId:
    return CrawlerId(f"c{number}")


def _apart_ms(here: Floats, there: Floats) -> float:
    """Degrees to milliseconds: a degree is 111 km, a millisecond of round trip 70 km."""
    one, other = (
        GeoPosition(float(here[0]), float(here[1])),
        GeoPosition(float(there[0]), float(there[1])),
    )
    return one.distance_km(other) / 70.0


def accuracy_and_probes(world: MadeWorld, strategy: Adaptive, sites: int) -> tuple[float, float]:
    """The share of sites that went to their nearest crawler, and probes per site."""
    right = probes = 0
    for number in range(sites):
        target = world.target(number)
        decision = world.delegate(strategy, target)
        assert decision.crawler is not None
        chosen = world.round_trip_ms(int(decision.crawler[1:]), target)
        right += chosen <= world.nearest(target) + 1e-9
        probes += len(decision.probes)
    return right / sites, probes / sites
