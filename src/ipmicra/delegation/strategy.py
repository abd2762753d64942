"""A target -> probes wanted -> a decision. The one interface of all strategies.

    decision = yield from strategy.delegate(target, now_s)

A strategy is a generator: it yields the probes it wants, is sent the answers, and returns its decision.
Between delegations it is told what happened: crawlers join, leave, fall asleep, wake, measure each
other, and fetches bring round trips. Several delegations may be under way at once.

Law: never asks the same crawler twice for a target, never asks or names a sleeping crawler, holds no
clock and no dice but the generator it was given.
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
from ipmicra.delegation.measurements import Measurements
from ipmicra.delegation.subnets import UNKNOWN_ORGANISATION, SubnetLookup, known_subnet
from ipmicra.delegation.trust import Trust
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Target

Delegating: TypeAlias = Generator[Probe, ProbeAnswer, Decision]


class Strategy(ABC):
    """What every strategy knows, and how it is told. A subclass decides.

    A subclass that keeps more than this overrides the events and calls `super()` first.
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
        """Find the target's crawler. `afresh`: look again although it is delegated (calibration)."""

    def delegated(self, target: Target) -> CrawlerId | None:
        """Whose the target is now, without asking anybody. The owner may be asleep."""
        return self.delegations.owner(self.ground_of(target))

    def kept(self, owner: CrawlerId, *subnets: Subnet) -> Decision:
        """It stays with its owner, now or when the owner wakes."""
        if self.crawlers.is_awake(owner):
            return Decision(owner, Why.ALREADY_DELEGATED, subnets)
        return Decision(None, Why.OWNER_ASLEEP, subnets, waits_for=owner)

    def give(self, ground: DelegationUnit, crawler: CrawlerId) -> None:
        """Delegate a ground, entered under its organisation where the tree knows one."""
        organisation = self.tree.organisation_of(ground) if is_subnet(ground) else UNKNOWN_ORGANISATION
        self.delegations.give(ground, crawler, organisation)

    def ground_of(self, target: Target) -> DelegationUnit:
        """What is delegated when this target is: the smallest subnet, or the lone address."""
        subnet = known_subnet(self.tree, target.address)
        return target.address if subnet is None else subnet

    def is_anycast(self, ground: DelegationUnit) -> bool:
        """Whether it was found to be in many places at once: never to be moved for latency."""
        return False

    def place_of(self, address: IPAddress) -> AddressRange:
        """The range whose measurements count for the address."""
        return AddressRange.of_address(address)

    def place_of_ground(self, ground: DelegationUnit) -> AddressRange | None:
        """The range that a ground's measurements are remembered under; a site has none."""
        if isinstance(ground, int):
            whole = self.tree.range_of(ground)
            return self.place_of(whole.first_address()) if whole.is_unary else whole
        return None if isinstance(ground, str) else self.place_of(ground)

    # --- events -------------------------------------------------------------

    def learn(self, measurement: Measurement) -> None:
        """A round trip, asked for elsewhere or met by an ordinary fetch."""
        self.measurements.learn(self.place_of(measurement.address), measurement)

    def crawlers_measured(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        self.crawlers.measure(one, other, round_trip_ms)

    def crawler_loaded(self, crawler: CrawlerId, bytes_a_day: float) -> None:
        """What its delegations bring it to fetch a day, by the latest count."""
        self.crawlers.load(crawler, bytes_a_day)

    def crawler_joined(self, profile: CrawlerProfile) -> None:
        self.crawlers.join(profile)

    def crawler_left(self, crawler: CrawlerId) -> tuple[DelegationUnit, ...]:
        """Gone for good. Returns what was its own and is nobody's now, to be delegated again."""
        self.crawlers.leave(crawler)
        self.measurements.forget_crawler(crawler)
        self.trust.forget(crawler)
        freed = self.delegations.held_by(crawler)
        for ground in freed:
            self.delegations.take(ground)
        return freed

    def crawler_slept(self, crawler: CrawlerId) -> None:
        """Outside its host's hours. It keeps what it has and gets nothing new."""
        self.crawlers.set_awake(crawler, awake=False)

    def crawler_woke(self, crawler: CrawlerId) -> None:
        self.crawlers.set_awake(crawler, awake=True)
