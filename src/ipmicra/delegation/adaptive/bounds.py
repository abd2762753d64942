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


def least_ms(round_trip_ms: float, mutual_ms: Floats, light_ms: Floats) -> Floats:
    """From one crawler's answer, for all crawlers; `mutual_ms` and `light_ms` are that crawler's rows."""
    triangle = SHORTCUT_SHARE * np.abs(mutual_ms - round_trip_ms)
    return np.fmax(np.fmax(triangle, light_ms - round_trip_ms), 0.0)
