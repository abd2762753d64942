"""Probing one crawler at a time until one is near enough (location-aware crawling by probing, VI).

Invariant: one crawler at a time; stop below the threshold; the fastest if none is below it.
Results are remembered per address: another site on the same server costs no probe.
"""

from __future__ import annotations

import random
from typing import Literal

import msgspec

from ipmicra.delegation.decision import Why
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategies.learning_strategy import LearningStrategy
from ipmicra.delegation.strategy import Delegating
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Target


class FirstFitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`order`: the crawler to probe first; the paper does not say. `drawn` (at random) spreads the probes
    evenly.
    """

    threshold: float = 50.0  # ms; lower: nearer crawlers, more probes
    order: Literal["drawn", "joined"] = "drawn"
    remember_s: float = 7 * 86400.0  # how old a remembered result may be; longer: fewer probes, staler
    silent_probes_max: int = 3  # higher: more probes wasted on the dead, fewer given up too early
    retry_after_s: float = 3600.0  # shorter: more probes wasted on the dead


class FirstFit(LearningStrategy):
    """The first crawler found below the threshold."""

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: FirstFitSettings) -> None:
        super().__init__(tree, rng, settings.silent_probes_max, settings.retry_after_s)
        self._settings = settings

    def unit_of(self, target: Target) -> DelegationUnit:
        return target.address

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        if (
            not afresh
            and (settled := self.existing_decision(target, (target.address,), now_s)) is not None
        ):
            return settled
        session = ProbeSession(self, target, now_s)
        if not afresh:
            session.recall(self._settings.remember_s)
        chosen = session.recalled_below(self._settings.threshold)
        if chosen is None:
            chosen = yield from self.first_below(session, self._turns(), self._settings.threshold)
        if chosen is not None:
            return self.conclude(session, chosen, Why.BELOW_THRESHOLD, (target.address,))
        return self.conclude(session, session.fastest(), Why.FASTEST_OF_ALL, (target.address,))

    def _turns(self) -> list[CrawlerId]:
        turns = list(self.crawlers.awake)
        if self._settings.order == "drawn":
            self.rng.shuffle(turns)
        return turns
