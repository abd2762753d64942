"""Strategies that probe from every crawler: the optimum, and the worst choice.

Invariant: exactly one probe from every awake crawler. The baseline for the other strategies.
"""

from __future__ import annotations

import random
from abc import abstractmethod

from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategies.random_and_hash import NoSettings
from ipmicra.delegation.strategy import Delegating, Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Target


class ExhaustiveStrategy(Strategy):
    """Every new address is probed from all awake crawlers and delegated by their answers."""

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: NoSettings) -> None:
        super().__init__(tree, rng)

    @abstractmethod
    def choice(self, session: ProbeSession) -> tuple[CrawlerId | None, Why]:
        """One of the crawlers that answered, and the reason."""

    def unit_of(self, target: Target) -> DelegationUnit:
        return target.address

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        owner = self.delegations.owner(target.address)
        if owner is not None and not afresh:
            return self.keep_owner(owner)
        if not self.crawlers.awake:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        session = ProbeSession(self, target, now_s)
        yield from session.ask_all()
        crawler, why = self.choice(session)
        if crawler is None:
            return session.decision(None, Why.UNREACHABLE)
        self.delegations.give(target.address, crawler)
        return session.decision(crawler, why)


class BruteForce(ExhaustiveStrategy):
    """The nearest of all."""

    def choice(self, session: ProbeSession) -> tuple[CrawlerId | None, Why]:
        return session.fastest(), Why.FASTEST_OF_ALL


class Worst(ExhaustiveStrategy):
    """The farthest of all."""

    def choice(self, session: ProbeSession) -> tuple[CrawlerId | None, Why]:
        return session.slowest(), Why.SLOWEST_OF_ALL
