"""How long does `adaptive` think about a probe, and how many delegations a second need no thought?

A made-up world on a plane, memory full of examples, no registry data needed. A probe's time is the CPU
time of whole delegations over the probes they asked for, so it holds the prior, the belief, the
explanation and the simulated answers too. Limits: 200 microseconds with 12 crawlers, 2 ms with 1,000;
100,000 delegations a second where nothing needs probing.
"""

from __future__ import annotations

import random
import time
from ipaddress import IPv4Address

import numpy as np
from rich.console import Console
from rich.table import Table

from ipmicra.addresses import AddressRange
from ipmicra.delegation.adaptive import Adaptive, AdaptiveSettings
from ipmicra.delegation.crawlers import CrawlerProfile, Position
from ipmicra.delegation.probes import Answer, CrawlerId, Target
from ipmicra.hierarchy import Allocation, Allocations, SubnetTree, build_tree

COUNTRIES = ("DE", "US", "JP", "BR", "ZA", "AU", "FR", "GB", "IN", "CA")
SUBNETS = 2048  # /20s, each in one place
WARM_SITES = 1500
TIMED_SITES = 300


class Plane:
    """Subnets and crawlers at random points; a round trip is the distance and a little more."""

    def __init__(self, crawlers: int, seed: int) -> None:
        self.dice = np.random.default_rng(seed)
        self.subnets = self.dice.uniform((-50, -150), (60, 150), (SUBNETS, 2))
        self.crawlers = self.dice.uniform((-50, -150), (60, 150), (crawlers, 2))

    def round_trip_ms(self, crawler: int, address: IPv4Address) -> float:
        subnet = (int(address) - int(IPv4Address("20.0.0.0"))) >> 12
        return 2.0 + float(np.hypot(*(self.crawlers[crawler] - self.subnets[subnet])))

    def some_site(self) -> Target:
        value = int(IPv4Address("20.0.0.0")) + int(self.dice.integers(SUBNETS << 12))
        return Target.of(f"site-{value}.example", IPv4Address(value))


def tree() -> SubnetTree:
    """The /20s with a country and an organisation for every ten."""
    records = Allocations()
    for number in range(SUBNETS):
        start = int(IPv4Address("20.0.0.0")) + (number << 12)
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
        position = Position(float(north), float(east))
        strategy.crawler_joined(CrawlerProfile(CrawlerId(str(number)), position=position))
    for one in range(len(plane.crawlers)):
        apart = 4.0 + np.hypot(*(plane.crawlers - plane.crawlers[one]).T)
        for other in range(one):
            strategy.crawlers_measured(CrawlerId(str(one)), CrawlerId(str(other)), float(apart[other]))
    return strategy


def delegated(strategy: Adaptive, plane: Plane, target: Target) -> int:
    """Probes asked."""
    assert isinstance(target.address, IPv4Address)
    probes, answer = 0, None
    talk = strategy.delegate(target, 0.0)
    while True:
        try:
            probe = next(talk) if answer is None else talk.send(answer)
        except StopIteration:
            return probes
        probes += 1
        answer = Answer(plane.round_trip_ms(int(probe.crawler), target.address))


def thinking(crawlers: int, warm: int, known: SubnetTree) -> tuple[float, float]:
    """Probes a site and microseconds a probe, with a memory of `warm` sites."""
    plane = Plane(crawlers, seed=crawlers)
    strategy = introduced(plane, known, price=1.0)
    for _ in range(max(1, warm)):
        delegated(strategy, plane, plane.some_site())
    targets = [plane.some_site() for _ in range(TIMED_SITES)]
    begun_s = time.process_time()
    asked = sum(delegated(strategy, plane, target) for target in targets)
    spent_s = time.process_time() - begun_s
    return asked / len(targets), 1e6 * spent_s / max(1, asked)


def unprobed(known: SubnetTree, count: int = 100_000) -> float:
    """Delegations a second of addresses whose owner is known."""
    plane = Plane(12, seed=1)
    strategy = introduced(plane, known, price=1.0)
    targets = [plane.some_site() for _ in range(500)]
    for target in targets:
        delegated(strategy, plane, target)
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
    for heading in ("crawlers", "sites remembered", "probes a site", "µs a probe", "limit"):
        table.add_column(heading, justify="right")
    for crawlers, warm, limit in (
        (12, 0, 200),
        (12, WARM_SITES, 200),
        (100, WARM_SITES, 2000),
        (1000, 200, 2000),
    ):
        probes, spent_us = thinking(crawlers, warm, known)
        table.add_row(str(crawlers), str(warm), f"{probes:.2f}", f"{spent_us:.0f}", str(limit))
    console = Console()
    console.print(table)
    console.print(f"nothing to probe: {unprobed(known):,.0f} delegations/s (limit 100,000)")


if __name__ == "__main__":
    main()
