"""Strategies that ask everybody: the optimum, and the worst that could be done.

Law: one probe from every crawler awake, no more and no fewer. What the others are judged by.
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
    """Every new address is probed from all crawlers awake and delegated by what they say."""

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: NoSettings) -> None:
        super().__init__(tree, rng)

    @abstractmethod
    def choice(self, inquiry: ProbeSession) -> tuple[CrawlerId | None, Why]:
        """Who, of those who answered."""

    def ground_of(self, target: Target) -> DelegationUnit:
        return target.address

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        owner = self.delegations.owner(target.address)
        if owner is not None and not afresh:
            return self.kept(owner)
        if not self.crawlers.awake:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        inquiry = ProbeSession(self, target, now_s)
        yield from inquiry.ask_all()
        crawler, why = self.choice(inquiry)
        if crawler is None:
            return inquiry.decision(None, Why.UNREACHABLE)
        self.delegations.give(target.address, crawler)
        return inquiry.decision(crawler, why)


class BruteForce(ExhaustiveStrategy):
    """The nearest of all."""

    def choice(self, inquiry: ProbeSession) -> tuple[CrawlerId | None, Why]:
        return inquiry.fastest(), Why.FASTEST_OF_ALL


class Worst(ExhaustiveStrategy):
    """The farthest of all."""

    def choice(self, inquiry: ProbeSession) -> tuple[CrawlerId | None, Why]:
        return inquiry.slowest(), Why.SLOWEST_OF_ALL
