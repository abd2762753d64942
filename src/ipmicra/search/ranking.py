"""Candidates as the engine scored them -> the order in which people see them.

Law: pure. Authority lifts, it does not decide; a near-duplicate of a better result is folded into it; a
site shows its best results and says how many more there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

ALIKE_BITS_MAX = 3  # of 64, as Manku, Jain and Das Sarma (2007) found for web pages
AUTHORITY_WEIGHT = 0.1


class Candidate(NamedTuple):
    identity: int
    score: float
    similarity: int
    site: int
    authority: float


class Ranked(NamedTuple):
    identity: int
    score: float
    alike: int
    more_from_site: int


def ranked(candidates: Sequence[Candidate], per_site: int) -> list[Ranked]:
    lifted = sorted(
        (
            Candidate(one.identity, _lifted(one), one.similarity, one.site, one.authority)
            for one in candidates
        ),
        key=lambda candidate: (-candidate.score, candidate.identity),
    )
    kept, folded = _without_near_duplicates(lifted)
    shown: Counter[int] = Counter()
    of_site = Counter(candidate.site for candidate in kept)
    results = []
    for candidate in kept:
        shown[candidate.site] += 1
        if per_site and shown[candidate.site] > per_site:
            continue
        more = (
            of_site[candidate.site] - per_site if per_site and shown[candidate.site] == per_site else 0
        )
        results.append(
            Ranked(candidate.identity, candidate.score, folded[candidate.identity], max(more, 0))
        )
    return results


def _lifted(candidate: Candidate) -> float:
    return candidate.score * (1 + AUTHORITY_WEIGHT * candidate.authority)


def _without_near_duplicates(candidates: Sequence[Candidate]) -> tuple[list[Candidate], Counter[int]]:
    """Of four quarters of two hashes at most three bits apart one is equal: only those are compared."""
    kept: list[Candidate] = []
    folded: Counter[int] = Counter()
    by_quarter: dict[tuple[int, int], list[Candidate]] = {}
    for candidate in candidates:
        quarters = [(shift, candidate.similarity >> shift & 0xFFFF) for shift in (0, 16, 32, 48)]
        like = _like(candidate, quarters, by_quarter) if candidate.similarity else None
        if like is not None:
            folded[like.identity] += 1
            continue
        kept.append(candidate)
        if candidate.similarity:
            for quarter in quarters:
                by_quarter.setdefault(quarter, []).append(candidate)
    return kept, folded


def _like(
    candidate: Candidate,
    quarters: Sequence[tuple[int, int]],
    by_quarter: Mapping[tuple[int, int], Sequence[Candidate]],
) -> Candidate | None:
    for quarter in quarters:
        for other in by_quarter.get(quarter, ()):
            if (other.similarity ^ candidate.similarity).bit_count() <= ALIKE_BITS_MAX:
                return other
    return None
