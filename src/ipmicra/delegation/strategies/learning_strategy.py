"""What every strategy that learns does about the odd cases, before and after its own rule.

Before: nobody awake, owned already, found unreachable a while ago. After: an address in many places
goes to the lightest of those near to it and stays; one that nobody reaches goes to nobody.

Law: whatever is given is given here, to an awake crawler that is believed.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable

from ipmicra.addresses import IPAddress
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import DelegationUnit, is_subnet
from ipmicra.delegation.light_bounds import faster_than_light
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target

UNREACHABLE_MAX = 100_000  # addresses remembered as unreachable; some 20 MB
ANYCAST_MAX = 100_000  # grounds remembered as being in many places; some 20 MB


class LearningStrategy(Strategy):
    """A strategy that goes by answers. `silent_probes_max` crawlers hearing nothing are enough."""

    def __init__(
        self, tree: SubnetLookup, rng: random.Random, silent_probes_max: int, retry_after_s: float
    ) -> None:
        super().__init__(tree, rng)
        self.silent_probes_max = silent_probes_max
        self.retry_after_s = retry_after_s
        self._anycast: dict[DelegationUnit, None] = {}
        self._unreachable_at_s: dict[IPAddress, float] = {}

    def is_anycast(self, ground: DelegationUnit) -> bool:
        return ground in self._anycast

    def recall_anycast(self, ground: DelegationUnit) -> None:
        """It was found to be in many places at once, by this or another process."""
        self._anycast[ground] = None

    def crawlers_measured(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        """Not believed where it is faster than light between the two places."""
        if one in self.crawlers and other in self.crawlers:
            if faster_than_light(self.crawlers, one, other, round_trip_ms):
                self.trust.contradicted(one, other)
            else:
                super().crawlers_measured(one, other, round_trip_ms)

    def settled(
        self, target: Target, grounds: Iterable[DelegationUnit], now_s: float
    ) -> Decision | None:
        """The decision where none is to be made: owned already, or unreachable a while ago."""
        held = self.delegations.covering(grounds)
        if held is not None:
            ground, owner = held
            return self.kept(owner, *filter(is_subnet, (ground,)))
        silent_s = self._unreachable_at_s.get(target.address)
        if silent_s is not None and now_s - silent_s < self.retry_after_s:
            return Decision(None, Why.UNREACHABLE)
        if not self.crawlers.awake:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        return None

    def first_below(
        self, inquiry: ProbeSession, crawlers: Iterable[CrawlerId], threshold_ms: float
    ) -> Generator[Probe, ProbeAnswer, CrawlerId | None]:
        """Ask one after the other; the first below the threshold, or None: all asked, or no use."""
        for crawler in crawlers:
            if self.no_use(inquiry):
                return None
            round_trip_ms = yield from inquiry.ask(crawler)
            below = round_trip_ms is not None and round_trip_ms < threshold_ms
            if below and not inquiry.near and self.crawlers.is_awake(crawler):
                return crawler
        return None

    def no_use(self, inquiry: ProbeSession) -> bool:
        """Whether asking on is of no use: known to be anycast, or nobody hears anything."""
        return bool(inquiry.near) or (
            not inquiry.round_trips_ms() and inquiry.silences >= self.silent_probes_max
        )

    def concluded(
        self,
        inquiry: ProbeSession,
        chosen: CrawlerId | None,
        why: Why,
        grounds: tuple[DelegationUnit, ...],
    ) -> Decision:
        """Give the grounds to the chosen, or do what the odd case asks for, and say so."""
        near = [crawler for crawler in inquiry.near if self.crawlers.is_awake(crawler)]
        if near:
            chosen, why = min(near, key=self._burden), Why.ANYCAST
            self._remember_anycast(grounds)
        if chosen is None:
            self._remember_silence(inquiry)
            return inquiry.decision(None, Why.UNREACHABLE)
        for ground in grounds:
            self.give(ground, chosen)
        return inquiry.decision(chosen, why, tuple(filter(is_subnet, grounds)))

    def _remember_anycast(self, grounds: tuple[DelegationUnit, ...]) -> None:
        for ground in grounds:
            while len(self._anycast) >= ANYCAST_MAX:
                del self._anycast[next(iter(self._anycast))]
            self._anycast[ground] = None

    def _burden(self, crawler: CrawlerId) -> tuple[float, int]:
        return self.crawlers.fullness(crawler), self.delegations.count_held_by(crawler)

    def _remember_silence(self, inquiry: ProbeSession) -> None:
        if inquiry.silences:
            while len(self._unreachable_at_s) >= UNREACHABLE_MAX:
                del self._unreachable_at_s[next(iter(self._unreachable_at_s))]
            self._unreachable_at_s[inquiry.target.address] = inquiry.now_s
