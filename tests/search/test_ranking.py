"""Ranking: lifted by links and authority, near-duplicates folded, one result a site."""

from __future__ import annotations

import numpy as np
import pytest

from ipmicra.search.ranking.ranking import Ranked, ScoredDocuments, ranked

FAR_APART = [0, 0xFF, 0xFF00, 0xFF0000]  # the first has too little text to tell


def candidates(scores: list[float], hashes: list[int], sites: list[int]) -> ScoredDocuments:
    nothing = np.zeros(len(scores))
    return ScoredDocuments(
        identity=np.arange(1, len(scores) + 1),
        score=np.array(scores, dtype=np.float64),
        similarity=np.array(hashes, dtype=np.uint64),
        site=np.array(sites, dtype=np.int64),
        links=nothing,
        authority=nothing,
        key=np.arange(len(scores)),
        canonical=np.arange(len(scores)),
    )


@pytest.mark.parametrize(
    ("hashes", "sites", "per_site", "expected"),
    [
        (FAR_APART, [1, 2, 3, 4], 1, [(1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)]),
        (FAR_APART, [1, 1, 2, 1], 1, [(1, 0, 2), (3, 0, 0)]),
        (FAR_APART, [1, 1, 2, 1], 2, [(1, 0, 0), (2, 0, 1), (3, 0, 0)]),
        (FAR_APART, [1, 1, 2, 1], 0, [(1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)]),
        ([0xFF, 0xFE, 0xFF00, 0xFC], [1, 2, 3, 4], 1, [(1, 2, 0), (3, 0, 0)]),
        ([0xFF, 0xFF, 0xFF00, 0xFF0000], [1, 1, 1, 2], 1, [(1, 1, 1), (4, 0, 0)]),
        ([0, 0, 0, 0], [1, 2, 3, 4], 1, [(1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 0, 0)]),
    ],
)
def test_what_is_shown_folded_and_left_out(
    hashes: list[int], sites: list[int], per_site: int, expected: list[tuple[int, int, int]]
) -> None:
    order = ranked(candidates([4.0, 3.0, 2.0, 1.0], hashes, sites), per_site, until=10)
    assert [(one.identity, one.alike, one.more_from_site) for one in order] == expected


def test_links_and_authority_lift_and_equals_keep_the_order_they_came_in() -> None:
    plain = candidates([1.0, 1.0, 1.0], FAR_APART[:3], [1, 2, 3])
    assert [one.identity for one in ranked(plain, 1, 10)] == [1, 2, 3]
    lifted = plain._replace(links=np.array([0.0, 0.0, 2.0]), authority=np.array([0.0, 1.0, 0.0]))
    assert [one.identity for one in ranked(lifted, 1, 10)] == [3, 2, 1]


def test_no_more_than_asked_for_and_nothing_of_nothing() -> None:
    assert len(ranked(candidates([2.0, 1.0], [0, 0], [1, 2]), 1, until=1)) == 1
    empty: list[Ranked] = ranked(candidates([], [], []), 1, until=10)
    assert empty == []
