"""Candidates as the engine scored them -> the order in which people see them.

Invariant: pure. Authority lifts, it does not decide; a near-duplicate of a better result is folded into
it, and so is a page into the one that it calls canonical; where several sites answer, a site shows its
best results and says how many more there are."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, TypeAlias

import numpy as np

ALIKE_BITS_MAX = 3  # of 64, as Manku, Jain and Das Sarma (2007) found for web pages
TWIN_BITS_MAX = 16  # unrelated pages are about 32 bits apart; a page and its canonical twin far fewer
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
    key: DocumentKeys  # of its address
    canonical: DocumentKeys  # of the address that it says it has; its own where it says nothing


class Ranked(NamedTuple):
    identity: int
    score: float
    alike: int
    more_from_site: int


def joined(first: ScoredDocuments, second: ScoredDocuments) -> ScoredDocuments:
    """The first, then those of the second that the first has not."""
    new = ~np.isin(second.identity, first.identity)
    return ScoredDocuments(
        *(np.concatenate([one, other[new]]) for one, other in zip(first, second, strict=True))
    )


def ranked(candidates: ScoredDocuments, per_site: int, until: int) -> list[Ranked]:
    """The best `until` results, or all there are. A site is folded only where several sites answer."""
    lift = 1 + LINKS_WEIGHT * candidates.links + AUTHORITY_WEIGHT * candidates.authority
    lifted = candidates.score * lift
    order = np.lexsort((candidates.identity, -lifted))
    identity, score = candidates.identity[order].tolist(), lifted[order].tolist()
    sites = candidates.site[order].tolist()
    similarity = candidates.similarity[order]
    twins = _canonical_twins(
        candidates.key[order].tolist(), candidates.canonical[order].tolist(), similarity.tolist()
    )
    folded, away = _near_duplicates(similarity, twins.away)
    for place, canonical in twins.shown.items():
        folded[place] = folded.get(place, 0) + twins.folded[place]
        identity[place] = identity[canonical]
    if len(set(sites)) == 1:
        per_site = 0
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


class _Twins(NamedTuple):
    """Pages that say that another candidate is their own address, by their places in the order."""

    away: set[int]
    folded: dict[int, int]  # how many were folded into which place
    shown: dict[int, int]  # which page stands at that place: the canonical one


def _canonical_twins(keys: list[int], canonical: list[int], similarity: list[int]) -> _Twins:
    """A canonical address is believed where the page that has it is a candidate too and reads alike."""
    found = _Twins(set(), {}, {})
    if keys == canonical:
        return found
    place_of = {key: place for place, key in enumerate(keys)}
    groups: dict[int, list[int]] = {}
    for place, (own, said) in enumerate(zip(keys, canonical, strict=True)):
        target = place_of.get(said)
        if own != said and target is not None and _read_alike(similarity[place], similarity[target]):
            groups.setdefault(target, []).append(place)
    for target, places in groups.items():
        if target in found.away or canonical[target] != keys[target]:
            continue
        best = min(target, *places)
        found.away.update({target, *places} - {best})
        found.folded[best] = len(places)
        found.shown[best] = target
    return found


def _read_alike(one: int, other: int) -> bool:
    return not one or not other or (one ^ other).bit_count() <= TWIN_BITS_MAX


def _near_duplicates(similarity: Hashes, gone: set[int]) -> tuple[dict[int, int], set[int]]:
    """The number of near-duplicates folded into each result, best first, and which. All pairs at once:
    few are alike.
    """
    alike = np.bitwise_count(similarity[:, None] ^ similarity) <= ALIKE_BITS_MAX
    alike[similarity == 0] = False  # too little text
    folded: dict[int, int] = {}
    away = set(gone)
    if np.count_nonzero(alike) <= np.count_nonzero(similarity):  # each is like itself
        return folded, away
    better, worse = alike.nonzero()
    for one, other in zip(better.tolist(), worse.tolist(), strict=True):
        if one < other and one not in away and other not in away:
            away.add(other)
            folded[one] = folded.get(one, 0) + 1
    return folded, away
