"""Estimates of units from other units of their region."""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.balancing.estimates import NO_ANSWER_FACTOR, TriangleEstimator
from ipmicra.delegation.balancing.regions import UNITS_AT_ONCE, RegionalEstimator

MUTUAL = np.array([[0.0, 100.0, 60.0], [100.0, 0.0, 80.0], [60.0, 80.0, 0.0]])
UNASKED = [20.0, np.nan, np.nan]


def test_what_was_measured_is_repeated_with_certainty_and_silence_is_far() -> None:
    believed, spread = RegionalEstimator(MUTUAL)(
        np.array([[10.0, 105.0, np.nan], [10.0, np.inf, np.nan]])
    )
    assert believed[0, :2].tolist() == [10.0, 105.0]
    assert believed[1, 1] == NO_ANSWER_FACTOR * 105.0
    assert np.count_nonzero(spread) == 2
    assert (spread[:, 2] > 0).all()


def test_answers_move_the_rest_of_the_region_and_hardly_anybody_else() -> None:
    before = np.array([UNASKED] * 9 + [[np.nan, np.nan, 20.0]])
    after = before.copy()
    after[:8, 1] = 115.0  # where the crawlers say 100
    belief = RegionalEstimator(MUTUAL)
    was, now = belief(before), belief(after)
    assert was.round_trips_ms[8, 1] < 105.0
    assert 110.0 < now.round_trips_ms[8, 1] < 116.0
    assert now.spread_ms[8, 1] < was.spread_ms[8, 1]
    assert abs(now.round_trips_ms[9, 1] - was.round_trips_ms[9, 1]) < 2.0


def test_crawlers_that_are_slow_together_are_believed_slow_together() -> None:
    slower = np.random.default_rng(1).uniform(-15, 15, 40)
    known = np.column_stack((np.full(40, 20.0), 100.0 + slower, 60.0 + slower))
    known[38:, 2] = np.nan
    believed, _ = RegionalEstimator(MUTUAL)(known)
    assert np.allclose(believed[38:, 2], 60.0 + slower[38:], atol=2.0)


def test_nothing_is_believed_that_the_triangle_forbids() -> None:
    known = np.random.default_rng(2).uniform(1, 90, (UNITS_AT_ONCE + 88, 3))
    known[np.arange(len(known)), np.arange(len(known)) % 3] = np.nan
    believed, spread = RegionalEstimator(MUTUAL)(known)
    triangle = TriangleEstimator(MUTUAL)
    least, most = triangle.bounds(known)
    unknown = np.isnan(known)
    assert ((believed >= least) & (believed <= most))[unknown].all()
    assert (spread <= triangle(known).spread_ms)[unknown].all()


def test_the_same_is_believed_of_the_same_grounds_in_any_order() -> None:
    known = np.array([UNASKED, [30.0, 90.0, np.nan], [np.nan, 12.0, 70.0], [np.nan] * 3])
    order = [2, 0, 3, 1]
    belief = RegionalEstimator(MUTUAL)
    assert np.allclose(belief(known).round_trips_ms[order], belief(known[order]).round_trips_ms)
