"""Strategies without probes: at random, and by a hash of the site's name.

Invariant: neither uses a round trip. They are the baseline for delegation by nearness.
"""

from __future__ import annotations

import hashlib
import math
import random

import msgspec

from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.delegations import LONE_MAX, DelegationUnit
from ipmicra.delegation.strategy import Delegating, Strategy
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId, SiteName
from ipmicra.model.probes import Target


class NoSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a strategy that has none."""


class RandomStrategy(Strategy):
    """UCYMicra: every address goes to a random crawler and stays there."""

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: NoSettings) -> None:
        super().__init__(tree, rng)

    def unit_of(self, target: Target) -> DelegationUnit:
        return target.address

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        yield from ()
        owner = self.delegations.owner(target.address)
        if owner is not None and not afresh:
            return self.keep_owner(owner)
        if not self.crawlers.awake:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        crawler = self.rng.choice(self.crawlers.awake)
        self.delegations.give(target.address, crawler)
        return Decision(crawler, Why.DRAWN)


class HashStrategyBase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`salt` changes which crawler gets which site; two crawls with the same salt agree."""

    salt: str = ""


class HashStrategy(Strategy):
    """Every site goes to the crawler that its name ranks highest (weighted rendezvous hashing).

    A crawler's score for a site is weight / -ln(u), u the hash of both names as a number in (0, 1), so
    it wins its weight's share of the sites. When a crawler joins, only what it wins moves, all of it to
    the newcomer; when one leaves, only its sites. No history is needed.
    """

    def __init__(self, tree: SubnetLookup, rng: random.Random, settings: HashStrategyBase) -> None:
        super().__init__(tree, rng)
        self._salt = settings.salt.encode()[:16]
        self._counted_for: tuple[CrawlerId, ...] = ()
        self._winners: dict[SiteName, CrawlerId] = {}

    def unit_of(self, target: Target) -> DelegationUnit:
        return target.site

    def owner_of(self, target: Target) -> CrawlerId | None:
        return self._winner(target.site)

    def delegate(self, target: Target, now_s: float, *, afresh: bool = False) -> Delegating:
        yield from ()
        crawler = self._winner(target.site)
        if crawler is None:
            return Decision(None, Why.NO_CRAWLER_AWAKE)
        if self.delegations.owner(target.site) != crawler:
            self.delegations.give(target.site, crawler)
        return Decision(crawler, Why.HASHED)

    def _winner(self, site: SiteName) -> CrawlerId | None:
        """Computed once while the same crawlers are awake."""
        crawlers = self.crawlers
        if self._counted_for is not crawlers.awake:
            self._counted_for = crawlers.awake
            self._winners = {}
        winner = self._winners.get(site)
        if winner is None and crawlers.awake:
            if len(self._winners) >= LONE_MAX:
                self._winners.clear()
            winner = max(crawlers.awake, key=lambda name: self._score(site, crawlers.profile(name)))
            self._winners[site] = winner
        return winner

    def _score(self, site: SiteName, profile: CrawlerProfile) -> tuple[float, str]:
        text = f"{profile.id}\n{site}".encode()
        digest = hashlib.blake2b(text, digest_size=8, salt=self._salt).digest()
        share = (int.from_bytes(digest, "big") + 0.5) / 2**64
        return profile.weight / -math.log(share), profile.id
