"""How long does `adaptive` think about a probe, and how many delegations per second need no thought?

A generated world on a plane, memory full of examples, no registry data needed; CPU time, the median over
batches of sites, since neighbours on the machine make noise. *To a probe*: from the target or the last
answer to the moment the probe is asked for, the mean over all probes. *In all*: whole delegations over the
probes they asked for, with the last decision and what is learnt from it. Limits, for a probe: 200
microseconds with 12 crawlers, 2 ms with 1,000; 100,000 delegations per second where nothing needs probing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from ipaddress import IPv4Address
from statistics import median
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from ipmicra.addresses import AddressRange
from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.strategies.adaptive import Adaptive, AdaptiveSettings
from ipmicra.hierarchy import Allocation, Allocations, SubnetTree, build_tree
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import ProbeAnswer, Target

COUNTRIES = ("DE", "US", "JP", "BR", "ZA", "AU", "FR", "GB", "IN", "CA")
SUBNETS = 2048  # /20s, each in one place
FIRST = int(IPv4Address("20.0.0.0"))
# A degree is 111 km and light in fibre takes 1.1 ms for it, there and back; routes are 1.6 times as long.
# Anything faster than light would be taken for an address in many places, or for a crawler that lies.
MS_PER_DEGREE = 1.8
WARM_SITES = 1500
BATCHES, BATCH_SITES = 20, 15


class Plane:
    """Subnets and crawlers at random points; a round trip is the distance and a little more."""

    def __init__(self, crawlers: int, seed: int) -> None:
        self.dice = np.random.default_rng(seed)
        self.subnets = self.dice.uniform((-50, -150), (60, 150), (SUBNETS, 2))
        self.crawlers = self.dice.uniform((-50, -150), (60, 150), (crawlers, 2))

    def round_trips_ms(self, target: Target) -> list[float]:
        """By crawler."""
        here = self.subnets[(int(target.address) - FIRST) >> 12]
        apart: list[float] = (2.0 + MS_PER_DEGREE * np.hypot(*(self.crawlers - here).T)).tolist()
        return apart

    def some_site(self) -> Target:
        value = FIRST + int(self.dice.integers(SUBNETS << 12))
        return Target.of(f"site-{value}.example", IPv4Address(value))


def tree() -> SubnetTree:
    """The /20s with a country and an organisation for every ten."""
    records = Allocations()
    for number in range(SUBNETS):
        start = FIRST + (number << 12)
        records.append(
            Allocation(
                AddressRange(4, start, start + 4096),
                handle=f"org-{number // 10}",
                country=COUNTRIES[number % len(COUNTRIES)],
            )
        )
    return build_tree(records).tree


def introduced(plane: Plane, known: SubnetTree, price: float) -> Adaptive:
    """A strategy that knows all crawlers and their round trips to each other."""
    strategy = Adaptive(known, random.Random(1), AdaptiveSettings(price=price))
    for number, (north, east) in enumerate(plane.crawlers):
        position = GeoPosition(float(north), float(east))
        strategy.on_crawler_joined(CrawlerProfile(CrawlerId(str(number)), position=position))
    for one in range(len(plane.crawlers)):
        apart = 4.0 + MS_PER_DEGREE * np.hypot(*(plane.crawlers - plane.crawlers[one]).T)
        for other in range(one):
            strategy.on_crawlers_measured(
                CrawlerId(str(one)), CrawlerId(str(other)), float(apart[other])
            )
    return strategy


class Spent(NamedTuple):
    """Of delegations: the probes asked, and seconds until each was asked for and in all."""

    probes: int
    to_probes_s: float
    in_all_s: float


def delegated(strategy: Adaptive, targets: Sequence[Target], plane: Plane) -> Spent:
    """One after the other; the time to look up an answer is not counted."""
    probes, to_probes_s, in_all_s = 0, 0.0, 0.0
    for target in targets:
        answers = [ProbeAnswer(round_trip_ms) for round_trip_ms in plane.round_trips_ms(target)]
        answer = None
        begun_s = time.process_time()
        talk = strategy.delegate(target, 0.0)
        while True:
            try:
                probe = next(talk) if answer is None else talk.send(answer)
            except StopIteration:
                in_all_s += time.process_time() - begun_s
                break
            to_probes_s += time.process_time() - begun_s
            in_all_s += time.process_time() - begun_s
            probes += 1
            answer = answers[int(probe.crawler)]
            begun_s = time.process_time()
    return Spent(probes, to_probes_s, in_all_s)


def thinking(crawlers: int, warm: int, known: SubnetTree) -> tuple[float, float, float]:
    """Probes a site, and microseconds to a probe and in all, with a memory of `warm` sites."""
    plane = Plane(crawlers, seed=crawlers)
    strategy = introduced(plane, known, price=1.0)
    delegated(strategy, [plane.some_site() for _ in range(max(1, warm))], plane)
    batches = [
        delegated(strategy, [plane.some_site() for _ in range(BATCH_SITES)], plane)
        for _ in range(BATCHES)
    ]
    asking = [batch for batch in batches if batch.probes]
    return (
        sum(batch.probes for batch in batches) / (BATCHES * BATCH_SITES),
        1e6 * median(batch.to_probes_s / batch.probes for batch in asking),
        1e6 * median(batch.in_all_s / batch.probes for batch in asking),
    )


def unprobed(known: SubnetTree, count: int = 100_000) -> float:
    """Delegations a second of addresses whose owner is known."""
    plane = Plane(12, seed=1)
    strategy = introduced(plane, known, price=1.0)
    targets = [plane.some_site() for _ in range(500)]
    delegated(strategy, targets, plane)
    begun_s = time.process_time()
    for number in range(count):
        try:
            next(strategy.delegate(targets[number % len(targets)], 0.0))
        except StopIteration:
            continue
    return count / (time.process_time() - begun_s)


def main() -> None:
    known = tree()
    table = Table(title="adaptive: time to decide a probe (CPU)")
    headings = ("crawlers", "sites remembered", "probes per site", "µs to a probe", "limit", "µs in all")
    for heading in headings:
        table.add_column(heading, justify="right")
    for crawlers, warm, limit in (
        (12, 0, 200),
        (12, WARM_SITES, 200),
        (100, WARM_SITES, 2000),
        (1000, 200, 2000),
    ):
        probes, to_probe_us, in_all_us = thinking(crawlers, warm, known)
        figures = (f"{probes:.2f}", f"{to_probe_us:.0f}", str(limit), f"{in_all_us:.0f}")
        table.add_row(str(crawlers), str(warm), *figures)
    console = Console()
    console.print(table)
    console.print(f"nothing to probe: {unprobed(known):,.0f} delegations/s (limit 100,000)")


if __name__ == "__main__":
    main()
