"""A script of round trips -> a strategy driven to its decision, as the simulator and the coordinator do.

Small generated worlds for the tests of delegation: crawlers, sites and the round trips between them.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Callable, Mapping

from ipmicra.addresses import IPAddress
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision
from ipmicra.delegation.driver import drive
from ipmicra.delegation.registry import strategy_named
from ipmicra.delegation.strategy import Delegating, Strategy
from ipmicra.delegation.subnets import NoSubnets, SubnetLookup
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import NoAnswer, Probe, ProbeAnswer, Target

Teller = Callable[[Probe], ProbeAnswer]


def crawler(name: str) -> CrawlerId:
    return CrawlerId(name)


def address(text: str) -> IPAddress:
    return ipaddress.ip_address(text)


def target(text: str, site: str | None = None) -> Target:
    return Target.of(site or f"site-{text}.example", address(text))


def told(round_trips_ms: Mapping[str, float]) -> Teller:
    """A world where each crawler has one round trip to every target; others get no answer."""

    def tell(probe: Probe) -> ProbeAnswer:
        value = round_trips_ms.get(probe.crawler)
        return ProbeAnswer(value, NoAnswer.TIMED_OUT if value is None else None)

    return tell


def never_asked(probe: Probe) -> ProbeAnswer:
    raise AssertionError(f"nothing should be asked: {probe}")


def driven(delegating: Delegating, tell: Teller) -> Decision:
    """Run a delegation to its end."""
    decision = drive(delegating, tell)
    assert isinstance(decision, Decision)
    return decision


def strategy_with(spec: str, crawlers: str, tree: SubnetLookup | None = None, seed: int = 1) -> Strategy:
    """A new strategy that knows crawlers of these names, all awake."""
    strategy = strategy_named(spec, tree if tree is not None else NoSubnets(), random.Random(seed))
    for name in crawlers.split():
        strategy.on_crawler_joined(CrawlerProfile(CrawlerId(name)))
    return strategy
