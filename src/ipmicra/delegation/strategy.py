"""A target -> wanted probes -> a decision. The one interface of all strategies.

    decision = yield from strategy.delegate(target, now_s)

A strategy is a generator: it yields the probes it wants, is sent the answers, and returns its decision.
Between delegations it receives events: crawlers join, leave, fall asleep, wake, measure each other, and
fetches bring round trips. Several delegations may run at once.

Invariant: never asks the same crawler twice for a target, never asks or names a sleeping crawler, and has no
clock and no randomness except the generator that it was given.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TypeAlias

from ipmicra.addresses import AddressRange, IPAddress
from ipmicra.delegation.crawlers import CrawlerProfile, Crawlers
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import Delegations, DelegationUnit, is_subnet
from ipmicra.delegation.evidence.measurements import Measurements
from ipmicra.delegation.evidence.trust import Trust
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION, SubnetLookup, known_subnet
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Target

Delegating: TypeAlias = Generator[Probe, ProbeAnswer, Decision]


class Strategy(ABC):
    """The state and the events of every strategy. A subclass decides.

    A subclass with more state overrides the events and calls `super()` first.
    """

    def __init__(self, tree: SubnetLookup, rng: random.Random) -> None:
        self.tree = tree
        self.rng = rng
        self.crawlers = Crawlers()
        self.delegations = Delegations()
        self.measurements = Measurements()
        self.trust = Trust()

    @abstractmethod
    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        """Find the target's crawler. `afresh`: decide again although it is delegated (calibration)."""

    def owner_of(self, target: Target) -> CrawlerId | None:
        """The present owner of the target, without a probe. It may be asleep."""
        return self.delegations.owner(self.unit_of(target))

    def keep_owner(self, owner: CrawlerId, *subnets: Subnet) -> Decision:
        """The target stays with its owner, now or when the owner wakes."""
        if self.crawlers.is_awake(owner):
            return Decision(owner, Why.ALREADY_DELEGATED, subnets)
        return Decision(None, Why.OWNER_ASLEEP, subnets, waits_for=owner)

    def give(self, unit: DelegationUnit, crawler: CrawlerId) -> None:
        """Delegate a unit, listed under its organisation if the tree knows one."""
        organisation = self.tree.organisation_of(unit) if is_subnet(unit) else UNKNOWN_ORGANISATION
        self.delegations.give(unit, crawler, organisation)

    def unit_of(self, target: Target) -> DelegationUnit:
        """The unit that the target belongs to: the smallest subnet, or the single address."""
        subnet = known_subnet(self.tree, target.address)
        return target.address if subnet is None else subnet

    def is_anycast(self, unit: DelegationUnit) -> bool:
        """Whether the unit is known to be anycast: never moved for latency."""
        return False

    def measured_range(self, address: IPAddress) -> AddressRange:
        """The range whose measurements count for the address."""
        return AddressRange.of_address(address)

    def range_of_unit(self, unit: DelegationUnit) -> AddressRange | None:
        """The range under which a unit's measurements are stored; a site has none."""
        if isinstance(unit, int):
            whole = self.tree.range_of(unit)
            return self.measured_range(whole.first_address()) if whole.is_unary else whole
        return None if isinstance(unit, str) else self.measured_range(unit)

    # --- events -------------------------------------------------------------

    def learn(self, measurement: Measurement) -> None:
        """A round trip from a probe elsewhere or from an ordinary fetch."""
        self.measurements.learn(self.measured_range(measurement.address), measurement)

    def on_crawlers_measured(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        self.crawlers.measure(one, other, round_trip_ms)

    def on_crawler_loaded(self, crawler: CrawlerId, bytes_a_day: float) -> None:
        """Bytes per day that its delegations make it fetch, by the latest count."""
        self.crawlers.load(crawler, bytes_a_day)

    def on_crawler_joined(self, profile: CrawlerProfile) -> None:
        self.crawlers.join(profile)

    def on_crawler_left(self, crawler: CrawlerId) -> tuple[DelegationUnit, ...]:
        """The crawler is gone. Returns its former units, which have no owner now."""
        self.crawlers.leave(crawler)
        self.measurements.forget_crawler(crawler)
        self.trust.forget(crawler)
        freed = self.delegations.held_by(crawler)
        for unit in freed:
            self.delegations.take(unit)
        return freed

    def on_crawler_slept(self, crawler: CrawlerId) -> None:
        """Outside its host's hours. It keeps its units and gets no new ones."""
        self.crawlers.set_awake(crawler, awake=False)

    def on_crawler_woke(self, crawler: CrawlerId) -> None:
        self.crawlers.set_awake(crawler, awake=True)
