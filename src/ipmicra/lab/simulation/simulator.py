"""A strategy and a draw -> its decision for each site, and the number of probes.

The driver of the simulated world: it reads the latency matrix where the live one awaits real probes, and
has a virtual clock that the answers advance. After each decision the chosen crawler fetches the site
once, and the strategy receives that round trip, as in the live system (a passive measurement).

Invariant: the strategy receives only the name and the address of a site. Probes of sleeping or absent
crawlers, and decisions without a crawler, are defects of the strategy and end the simulation.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.decision import Decision
from ipmicra.delegation.driver import drive
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.errors import OurFault
from ipmicra.lab.simulation.noise import Jitter
from ipmicra.lab.simulation.sampling import Draw
from ipmicra.lab.world import LatencyNode, Milliseconds
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Source, Target

# Between two sites becoming known; only ages of measurements hang on it.
BETWEEN_SITES_S = 1.0


@dataclass(frozen=True)
class SimulationOutcome:
    """Per site, in order of arrival: the crawler chosen (its number in the draw) and the probes."""

    chosen: NDArray[np.int64]
    probes: NDArray[np.int64]
    free_probes: NDArray[
        np.int64
    ]  # 1 where the chosen crawler was probed: its first fetch measures the same
    probed_ms: Milliseconds  # crawler by site: the answer, NaN where not probed
    cpu_s: float


def crawler_id(number: int) -> CrawlerId:
    """The name of a draw's crawler."""
    return CrawlerId(f"crawler-{number:03}")


def play(
    spec: str, tree: SubnetLookup, draw: Draw, seed: int, jitter: Jitter | None = None
) -> SimulationOutcome:
    """A new strategy of that description, cold, over all sites of the draw."""
    dice = random.Random(f"{seed}/{draw.number}/{spec}")  # noqa: S311  # repeatable, not secret
    strategy = strategy_named(spec, tree, dice)
    introduce_crawlers(strategy, draw)
    return simulate(strategy, draw, _answers(draw, seed, jitter))


def introduce_crawlers(strategy: Strategy, draw: Draw) -> None:
    """Let the crawlers join and report their round trips to each other."""
    for number, place in enumerate(draw.crawlers):
        strategy.on_crawler_joined(_profile(number, place))
    for one in range(len(draw.crawlers)):
        for other in range(one):
            mutual_ms = float(draw.mutual_ms[one, other])
            strategy.on_crawlers_measured(crawler_id(one), crawler_id(other), mutual_ms)


def simulate(strategy: Strategy, draw: Draw, answers_ms: Milliseconds) -> SimulationOutcome:
    """Delegate every site of the draw in order; `answers_ms` is what probes bring, crawler by site."""
    driver = _Driver(strategy, draw, answers_ms)
    begun_s = time.process_time()
    for number in range(len(draw.sites)):
        driver.delegate(number)
    return SimulationOutcome(
        driver.chosen, driver.probes, driver.free, driver.probed_ms, time.process_time() - begun_s
    )


class _Driver:
    """Answers one strategy's probes and writes down what it decides."""

    def __init__(self, strategy: Strategy, draw: Draw, answers_ms: Milliseconds) -> None:
        count = len(draw.sites)
        self._strategy = strategy
        self._targets = [Target.of(site.name, site.address) for site in draw.sites]
        self._answers = answers_ms.tolist()
        self._numbers = {crawler_id(number): number for number in range(len(draw.crawlers))}
        self._now_s = 0.0
        self.chosen = np.full(count, -1, dtype=np.int64)
        self.probes = np.zeros(count, dtype=np.int64)
        self.free = np.zeros(count, dtype=np.int64)
        self.probed_ms = np.full((len(draw.crawlers), count), np.nan)

    def delegate(self, number: int) -> None:
        decision = self._converse(number)
        if decision.crawler is None:
            site = self._targets[number].site
            raise OurFault(
                f"the strategy delegated {site} to no crawler, though all crawlers are awake: {decision}"
            )
        crawler = self._numbers[decision.crawler]
        self.chosen[number] = crawler
        self.free[number] = not np.isnan(self.probed_ms[crawler, number])
        self._fetch_once(number, decision.crawler)
        self._now_s += BETWEEN_SITES_S

    def _converse(self, number: int) -> Decision:
        def answer(probe: Probe) -> ProbeAnswer:
            crawler = self._numbers[probe.crawler]
            answer_ms = self._answers[crawler][number]
            self.probed_ms[crawler, number] = answer_ms
            self.probes[number] += 1
            self._now_s += answer_ms / 1000.0
            return ProbeAnswer(answer_ms)

        return drive(self._strategy.delegate(self._targets[number], self._now_s), answer)

    def _fetch_once(self, number: int, crawler: CrawlerId) -> None:
        """The first fetch measures the round trip without a probe."""
        round_trip_ms = self._answers[self._numbers[crawler]][number]
        address = self._targets[number].address
        self._strategy.learn(Measurement(crawler, address, round_trip_ms, self._now_s, Source.PASSIVE))


def _answers(draw: Draw, seed: int, jitter: Jitter | None) -> Milliseconds:
    """The answers to probes: the true round trip, or that plus a jitter that is the same for every
    strategy.
    """
    if jitter is None:
        return draw.round_trips_ms
    generator = np.random.default_rng([seed, draw.number, 1])
    return draw.round_trips_ms + jitter.drawn_ms(generator, draw.round_trips_ms.shape)


def _profile(number: int, place: LatencyNode) -> CrawlerProfile:
    position = None
    if place.latitude is not None and place.longitude is not None:
        position = GeoPosition(place.latitude, place.longitude)
    return CrawlerProfile(
        id=crawler_id(number), address=place.address, country=place.country or None, position=position
    )
