"""Candidates as the engine scored them -> the order in which people see them.

Law: pure. Authority lifts, it does not decide; a near-duplicate of a better result is folded into it; a
site shows its best results and says how many more there are.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeAlias

import numpy as np

ALIKE_BITS_MAX = 3  # of 64, as Manku, Jain and Das Sarma (2007) found for web pages
LINKS_WEIGHT = 0.05
AUTHORITY_WEIGHT = 0.05

DocumentKeys: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Hashes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
DocumentScores: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


class ScoredDocuments(NamedTuple):
    """Columns of equal length, a row a page."""

    identity: DocumentKeys
    score: DocumentScores
    similarity: Hashes
    site: DocumentKeys
    links: DocumentScores  # the logarithm of how many links the page has
    authority: DocumentScores  # of its site, see `authority`


class Ranked(NamedTuple):
    identity: int
    score: float
    alike: int
    more_from_site: int


def ranked(candidates: ScoredDocuments, per_site: int, until: int) -> list[Ranked]:
    """The best `until` results, or all there are."""
    lift = 1 + LINKS_WEIGHT * candidates.links + AUTHORITY_WEIGHT * candidates.authority
    lifted = candidates.score * lift
    order = np.lexsort((candidates.identity, -lifted))
    identity, score = candidates.identity[order].tolist(), lifted[order].tolist()
    sites = candidates.site[order].tolist()
    folded, away = _near_duplicates(candidates.similarity[order])
    kept = [place for place in range(len(order)) if place not in away]
    left = Counter([sites[place] for place in kept])
    shown: dict[int, int] = {}
    results: list[Ranked] = []
    for place in kept:
        site = sites[place]
        shown[site] = so_far = shown.get(site, 0) + 1
        if per_site and so_far > per_site:
            continue
        more = left[site] - per_site if so_far == per_site else 0
        results.append(Ranked(identity[place], score[place], folded.get(place, 0), more))
        if len(results) == until:
            break
    return results


def _near_duplicates(similarity: Hashes) -> tuple[dict[int, int], set[int]]:
    """How many were folded into which places, best first, and who was. All pairs at once: few are alike."""
    alike = np.bitwise_count(similarity[:, None] ^ similarity) <= ALIKE_BITS_MAX
    alike[similarity == 0] = False  # too little text to tell
    folded: dict[int, int] = {}
    away: set[int] = set()
    if np.count_nonzero(alike) <= np.count_nonzero(similarity):  # each is like itself
        return folded, away
    better, worse = alike.nonzero()
    for one, other in zip(better.tolist(), worse.tolist(), strict=True):
        if one < other and one not in away and other not in away:
            away.add(other)
            folded[one] = folded.get(one, 0) + 1
    return folded, away
