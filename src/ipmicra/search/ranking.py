"""Candidates as the engine scored them -> the order in which people see them.

Law: pure. Authority lifts, it does not decide; a near-duplicate of a better result is folded into it; a
site shows its best results and says how many more there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ALIKE_BITS_MAX = 3  # of 64, as Manku, Jain and Das Sarma (2007) found for web pages
LINKS_WEIGHT = 0.05
AUTHORITY_WEIGHT = 0.05


class Candidates(NamedTuple):
    """Columns of equal length, a row a page."""

    identity: Sequence[int]
    score: Sequence[float]
    similarity: Sequence[int]
    site: Sequence[int]
    links: Sequence[float]  # the logarithm of how many links the page has
    authority: Sequence[float]  # of its site, see `authority`


class Ranked(NamedTuple):
    identity: int
    score: float
    alike: int
    more_from_site: int


def ranked(candidates: Candidates, per_site: int, until: int) -> list[Ranked]:
    """The best `until` results, or all there are."""
    lifted = [
        score * (1 + LINKS_WEIGHT * links + AUTHORITY_WEIGHT * authority)
        for score, links, authority in zip(
            candidates.score, candidates.links, candidates.authority, strict=True
        )
    ]
    order = sorted(range(len(lifted)), key=lambda at: (-lifted[at], candidates.identity[at]))
    kept, folded = _without_near_duplicates(order, candidates.similarity)
    left = Counter([candidates.site[at] for at in kept])
    shown: Counter[int] = Counter()
    results: list[Ranked] = []
    for at in kept:
        site = candidates.site[at]
        shown[site] += 1
        if per_site and shown[site] > per_site:
            continue
        more = max(left[site] - per_site, 0) if shown[site] == per_site else 0
        results.append(Ranked(candidates.identity[at], lifted[at], folded[at], more))
        if len(results) == until:
            break
    return results


def _without_near_duplicates(
    order: list[int], similarity: Sequence[int]
) -> tuple[list[int], Counter[int]]:
    """Who is kept, and how many were folded into each of them. All pairs at once: few are alike."""
    folded: Counter[int] = Counter()
    in_order = [similarity[at] for at in order]
    if not _may_be_alike(in_order):
        return order, folded
    hashes = np.array(in_order, dtype=np.uint64)
    alike = np.bitwise_count(hashes[:, None] ^ hashes) <= ALIKE_BITS_MAX
    alike[hashes == 0] = False  # too little text to tell
    if np.count_nonzero(alike) <= np.count_nonzero(hashes):
        return order, folded
    away: set[int] = set()
    for better, worse in np.argwhere(np.triu(alike, 1)).tolist():
        if better not in away and worse not in away:
            away.add(worse)
            folded[order[better]] += 1
    return [at for place, at in enumerate(order) if place not in away], folded


def _may_be_alike(hashes: list[int]) -> bool:
    """Of two hashes at most three bits apart, at least one of four quarters is the same."""
    told = [one for one in hashes if one]
    return any(len({one >> shift & 0xFFFF for one in told}) < len(told) for shift in (0, 16, 32, 48))
