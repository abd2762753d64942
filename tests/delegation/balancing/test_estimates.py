"""Estimates of round trips that were not measured."""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.balancing.estimates import NO_ANSWER_FACTOR, SPREAD_SHARE, TriangleEstimator

MUTUAL = np.array([[0.0, 100.0, 60.0], [100.0, 0.0, 80.0], [60.0, 80.0, 0.0]])


def test_the_triangle_leaves_a_middle_and_a_width() -> None:
    believed, spread = TriangleEstimator(MUTUAL)(np.array([[10.0, np.nan, np.nan]]))
    assert believed.tolist() == [[10.0, 100.0, 60.0]]  # between 90 and 110, between 50 and 70
    assert spread.tolist() == [[0.0, SPREAD_SHARE * 20, SPREAD_SHARE * 20]]


def test_a_second_measurement_narrows_the_bounds() -> None:
    believed, _ = TriangleEstimator(MUTUAL)(np.array([[30.0, 75.0, np.nan]]))
    assert believed[0, 2] == 60.0  # 30 to 90 by the first, 5 to 155 by the second


def test_silence_is_far_and_certain() -> None:
    believed, spread = TriangleEstimator(MUTUAL)(np.array([[10.0, np.inf, np.nan]]))
    assert (believed[0, 1], spread[0, 1]) == (NO_ANSWER_FACTOR * 100.0, 0.0)


def test_an_unmeasured_unit_is_assumed_at_a_medium_distance() -> None:
    believed, spread = TriangleEstimator(MUTUAL)(np.full((1, 3), np.nan))
    assert believed.tolist() == [[100.0] * 3]
    assert (spread > 0).all()
