"""Answers and mutual round trips -> what every other crawler's round trip cannot be below.

Two bounds. The triangle: if A is r from the site, then B is about |d(A,B) - r| from it at least; routes
are not a metric, so only a share of it counts. Light: the site lies within r of A, so it is at least the
rest of the way from B, at light's speed in fibre; this one holds where positions are known.

Law: a bound is never negative and never NaN; who is not measured is not bound.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats
from ipmicra.delegation.light import SHORTCUT_SHARE


class Bounds:
    """By crawler, the greatest of the bounds so far."""

    def __init__(self, crawlers: int) -> None:
        self.least_ms: Floats = np.zeros(crawlers)
        self.light_ms: Floats = np.zeros(crawlers)  # by light alone

    def tighten(self, round_trip_ms: float, mutual_ms: Floats, light_ms: Floats) -> None:
        """One crawler's answer; `mutual_ms` and `light_ms` are that crawler's rows."""
        triangle = mutual_ms - round_trip_ms
        np.abs(triangle, out=triangle)
        triangle *= SHORTCUT_SHARE
        np.fmax(self.least_ms, triangle, out=self.least_ms)
        np.maximum(self.light_ms, light_ms - round_trip_ms, out=self.light_ms)
        np.maximum(self.least_ms, self.light_ms, out=self.least_ms)
