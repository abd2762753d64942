"""Authority of sites: PageRank on small webs whose order is plain, and its bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ipmicra.search.ranking.authority import SiteAuthority, site_authority


def test_a_site_that_others_link_to_counts_more_than_those() -> None:
    value = site_authority([(1, 9, 1), (2, 9, 1), (3, 9, 1)])
    assert value[9] > value[1] == value[2] == value[3] > 0


def test_a_link_from_a_site_of_weight_counts_more_than_one_from_anywhere() -> None:
    value = site_authority([(1, 9, 1), (2, 9, 1), (3, 9, 1), (9, 5, 1), (4, 6, 1)])
    assert value[5] > value[6]


def test_many_links_of_one_site_are_not_many_votes() -> None:
    value = site_authority([(1, 8, 1_000), (1, 9, 1), (2, 9, 1), (3, 9, 1)])
    assert value[9] > value[8]


def test_nobody_links_to_anybody() -> None:
    assert site_authority([]) == {}
    assert SiteAuthority({}).of(np.array([1, 2])).tolist() == [0.0, 0.0]


def test_looking_up_finds_known_sites_and_no_others() -> None:
    values = SiteAuthority({3: 1.5, 7: 2.5}).of(np.array([7, 1, 3, 9]))
    assert values.tolist() == [2.5, 0.0, 1.5, 0.0]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 99)), max_size=40))
def test_any_web_has_finite_authority(pairs: list[tuple[int, int, int]]) -> None:
    values = site_authority(pairs)
    assert set(values) == {site for source, target, _ in pairs for site in (source, target)}
    assert all(0 < value < 10 for value in values.values())
