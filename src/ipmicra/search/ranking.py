"""Candidates as the engine scored them -> the order in which people see them.

Law: pure. Authority lifts, it does not decide; a near-duplicate of a better result is folded into it; a
site shows its best results and says how many more there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
            candidate._replace(score=candidate.score * (1 + AUTHORITY_WEIGHT * candidate.authority))
            for candidate in candidates
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


def _without_near_duplicates(candidates: Sequence[Candidate]) -> tuple[list[Candidate], Counter[int]]:
    kept: list[Candidate] = []
    folded: Counter[int] = Counter()
    for candidate in candidates:
        like = candidate.similarity and next(
            (
                other
                for other in kept
                if other.similarity and _alike(other.similarity, candidate.similarity)
            ),
            None,
        )
        if like:
            folded[like.identity] += 1
        else:
            kept.append(candidate)
    return kept, folded


def _alike(one: int, other: int) -> bool:
    return (one ^ other).bit_count() <= ALIKE_BITS_MAX
