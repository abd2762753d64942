"""Answers and mutual round trips -> lower bounds of every other crawler's round trip.

Two bounds. The triangle: if A is r from the site, then B is about |d(A,B) - r| from it at least; routes
are not a metric, so only a share of it counts. Light: the site lies within r of A, so it is at least the
rest of the distance from B, at the speed of light in fibre; this bound needs known positions.

Invariant: a bound is never negative and never NaN; a crawler that is not measured has no bound.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.evidence.light_bounds import SHORTCUT_SHARE
from ipmicra.delegation.strategies.adaptive.arrays import Floats, Singles

# Of the answer, that each part of a row is held against: either side of the triangle, and light.
SHARES: Singles = np.array(((SHORTCUT_SHARE,), (-SHORTCUT_SHARE,), (1.0,)), dtype=np.float32)


class RoundTripBounds:
    """By crawler, the greatest of the bounds so far."""

    def __init__(self, crawlers: int) -> None:
        self.least_ms: Singles = np.zeros(crawlers, dtype=np.float32)

    def tighten(self, round_trip_ms: float, row: Singles) -> None:
        """One crawler's answer; `row` is that crawler's."""
        bounds = row - SHARES * round_trip_ms
        np.maximum(self.least_ms, np.maximum.reduce(bounds), out=self.least_ms)


def bounding_row(mutual_ms: Floats, light_ms: Floats) -> Singles:
    """The bounds that a crawler's answer is combined with, by crawler: both sides of the triangle, and
    light.
    """
    triangle = SHORTCUT_SHARE * mutual_ms
    row = np.array((triangle, -triangle, light_ms), dtype=np.float32)
    return np.nan_to_num(row, copy=False, nan=-np.inf)
