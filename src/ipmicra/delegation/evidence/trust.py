"""Contradictory answers -> crawlers whose answers are not trusted.

Two crawlers' round trips to one address can contradict each other because the address is in several
places, or because one of the two lies. One pair cannot decide that; many can: an anycast address makes all
crawlers contradict each other, a liar is part of nearly every contradiction.

Invariant: at most one crawler at a time is distrusted, by counts alone, and only against enough others.
"""

from __future__ import annotations

import math
from collections import Counter

from ipmicra.model.ids import CrawlerId

CONTRADICTIONS_MIN = 20  # below this, chance and a few anycast addresses explain it
PARTNERS_MIN = 3  # with fewer, the partner could as well be the liar
SHARE_MIN = 0.5  # of the crawler's comparisons: an honest crawler mostly agrees
DEVIATIONS_MIN = 4.0  # above an even share of all contradictions: by chance one in 30,000 crawlers


class Trust:
    """Counts contradictions between crawlers and lists the crawlers that are not trusted."""

    def __init__(self) -> None:
        self._compared: Counter[CrawlerId] = Counter()
        self._contradicted: dict[frozenset[CrawlerId], int] = {}
        self._distrusted: dict[CrawlerId, None] = {}

    @property
    def distrusted(self) -> tuple[CrawlerId, ...]:
        return tuple(self._distrusted)

    def trusts(self, crawler: CrawlerId) -> bool:
        return crawler not in self._distrusted

    def on_agreement(self, crawler: CrawlerId) -> None:
        """Its answer is consistent with those of the other crawlers."""
        self._compared[crawler] += 1

    def on_contradiction(self, one: CrawlerId, other: CrawlerId) -> None:
        """Their two answers cannot both be true for one place."""
        pair = frozenset((one, other))
        self._contradicted[pair] = self._contradicted.get(pair, 0) + 1
        for crawler in (one, other):
            self._compared[crawler] += 1
            if self._is_liar(crawler):
                self._distrusted[crawler] = None

    def forget(self, crawler: CrawlerId) -> None:
        """The crawler is gone or was checked: it starts again."""
        self._distrusted.pop(crawler, None)
        self._compared.pop(crawler, None)
        self._contradicted = {pair: n for pair, n in self._contradicted.items() if crawler not in pair}

    def _is_liar(self, crawler: CrawlerId) -> bool:
        counted = {
            pair: count
            for pair, count in self._contradicted.items()
            if not any(known in pair for known in self._distrusted)
        }
        own = [count for pair, count in counted.items() if crawler in pair]
        if sum(own) < CONTRADICTIONS_MIN or len(own) < PARTNERS_MIN:
            return False
        of_its_own = sum(own) / self._compared[crawler]
        return of_its_own > SHARE_MIN and _deviations(sum(own), counted) > DEVIATIONS_MIN


def _deviations(own: int, counted: dict[frozenset[CrawlerId], int]) -> float:
    """Standard deviations above an even share: each contradiction has two sides."""
    total, crawlers = sum(counted.values()), len(frozenset().union(*counted))
    even = min(1.0, 2 / crawlers)
    return (own - total * even) / math.sqrt(max(1.0, total * even * (1 - even)))
