"""The special cases that all learning strategies handle alike, before and after their own rule.

Before: no crawler is awake, the target has an owner, or was found unreachable recently. After: an anycast
address goes to the least loaded crawler near to it and stays; an unreachable one gets no owner.

Invariant: every unit is delegated here, to an awake and trusted crawler.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable

from ipmicra.addresses import IPAddress
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import DelegationUnit, is_subnet
from ipmicra.delegation.evidence.light_bounds import faster_than_light
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategy import Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target

UNREACHABLE_MAX = 100_000  # addresses remembered as unreachable; about 20 MB
ANYCAST_MAX = 100_000  # units remembered as anycast; about 20 MB


class LearningStrategy(Strategy):
    """A strategy that uses answers. It gives up after `silent_probes_max` crawlers without an answer."""

    def __init__(
        self, tree: SubnetLookup, rng: random.Random, silent_probes_max: int, retry_after_s: float
    ) -> None:
        super().__init__(tree, rng)
        self.silent_probes_max = silent_probes_max
        self.retry_after_s = retry_after_s
        self._anycast: dict[DelegationUnit, None] = {}
        self._unreachable_at_s: dict[IPAddress, float] = {}

    def is_anycast(self, unit: DelegationUnit) -> bool:
        return unit in self._anycast

    def restore_anycast(self, unit: DelegationUnit) -> None:
        """The unit was found to be anycast, by this or another process."""
        self._anycast[unit] = None

    def on_crawlers_measured(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        """Ignored if it is faster than light between the two positions."""
        if one in self.crawlers and other in self.crawlers:
            if faster_than_light(self.crawlers, one, other, round_trip_ms):
                self.trust.on_contradiction(one, other)
            else:
                super().on_crawlers_measured(one, other, round_trip_ms)

    def existing_decision(
        self, target: Target, units: Iterable[DelegationUnit], now_s: float
    ) -> Decision | None:
        """The decision if there is nothing to decide: owned already, or recently unreachable."""
        held = self.delegations.covering(units)
        if held is not None:
            unit, owner = held
            return self.keep_owner(owner, *filter(is_subnet, (unit,)))
        silent_s = self._unreachable_at_s.get(target.address)
        if silent_s is not None and now_s - silent_s < self.retry_after_s:
            return Decision(None, Why.UNREACHABLE)
        if not self.crawlers.awake:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        return None

    def first_below(
        self, session: ProbeSession, crawlers: Iterable[CrawlerId], threshold_ms: float
    ) -> Generator[Probe, ProbeAnswer, CrawlerId | None]:
        """Ask one after the other; the first below the threshold, or None: all asked, or pointless."""
        for crawler in crawlers:
            if self.is_pointless(session):
                return None
            round_trip_ms = yield from session.ask(crawler)
            below = round_trip_ms is not None and round_trip_ms < threshold_ms
            if below and not session.near and self.crawlers.is_awake(crawler):
                return crawler
        return None

    def is_pointless(self, session: ProbeSession) -> bool:
        """Whether more probes are pointless: known to be anycast, or no crawler gets an answer."""
        return bool(session.near) or (
            not session.round_trips_ms() and session.silences >= self.silent_probes_max
        )

    def conclude(
        self,
        session: ProbeSession,
        chosen: CrawlerId | None,
        why: Why,
        units: tuple[DelegationUnit, ...],
    ) -> Decision:
        """Give the units to the chosen crawler, or handle the special case."""
        near = [crawler for crawler in session.near if self.crawlers.is_awake(crawler)]
        if near:
            chosen, why = min(near, key=self._burden), Why.ANYCAST
            self._remember_anycast(units)
        if chosen is None:
            self._remember_silence(session)
            return session.decision(None, Why.UNREACHABLE)
        for unit in units:
            self.give(unit, chosen)
        return session.decision(chosen, why, tuple(filter(is_subnet, units)))

    def _remember_anycast(self, units: tuple[DelegationUnit, ...]) -> None:
        for unit in units:
            while len(self._anycast) >= ANYCAST_MAX:
                del self._anycast[next(iter(self._anycast))]
            self._anycast[unit] = None

    def _burden(self, crawler: CrawlerId) -> tuple[float, int]:
        return self.crawlers.fullness(crawler), self.delegations.count_held_by(crawler)

    def _remember_silence(self, session: ProbeSession) -> None:
        if session.silences:
            while len(self._unreachable_at_s) >= UNREACHABLE_MAX:
                del self._unreachable_at_s[next(iter(self._unreachable_at_s))]
            self._unreachable_at_s[session.target.address] = session.now_s
