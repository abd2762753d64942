"""Positions and mutual round trips -> round trips that distance alone would predict.

    round trip = access + per_km * distance

Both numbers are fitted on the crawlers' own round trips to each other, so they follow the network that
the crawlers are in. Invariant: the fit starts from an assumption that weighs as much as a few pairs; a
pair far from the line (a detour) gets less weight, and is not removed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.delegation.evidence.light_bounds import FIBRE_KM_PER_ROUND_TRIP_MS
from ipmicra.delegation.strategies.adaptive.arrays import Floats

EARTH_RADIUS_KM = 6371.0
LIGHT_MS_PER_KM = 1 / FIBRE_KM_PER_ROUND_TRIP_MS
# Before anything is measured: routes are about 1.6 times as long as the great circle, and a few
# milliseconds go into access links. Worth PRIOR_PAIRS measured pairs.
ASSUMED_ACCESS_MS = 4.0
ASSUMED_MS_PER_KM = 1.6 * LIGHT_MS_PER_KM
PRIOR_PAIRS = 3.0
TYPICAL_KM = 5000.0  # a length that makes the assumption on the slope worth as much as that on access
ROUNDS = 15  # of reweighting; it settles within ten


class DistanceModel(NamedTuple):
    """A straight line from kilometres to milliseconds of round trip."""

    access_ms: float = ASSUMED_ACCESS_MS
    ms_per_km: float = ASSUMED_MS_PER_KM

    def round_trip_ms(self, distance_km: Floats) -> Floats:
        return self.access_ms + self.ms_per_km * distance_km


def unit_vectors(latitudes: Floats, longitudes: Floats) -> Floats:
    """Points on the sphere, one per row; NaN stays NaN."""
    north, east = np.radians(latitudes), np.radians(longitudes)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=1)


def distances_km(here: Floats, there: Floats) -> Floats:
    """Great circles from each row of `here` to each of `there`."""
    cosines: Floats = here @ there.T
    return EARTH_RADIUS_KM * np.arccos(np.clip(cosines, -1.0, 1.0))


def fitted(distance_km: Floats, round_trip_ms: Floats) -> DistanceModel:
    """The line through measured pairs: least absolute relative deviation, by reweighting."""
    known = np.isfinite(distance_km) & np.isfinite(round_trip_ms)
    km, ms = distance_km[known], round_trip_ms[known]
    noise = 1.0 + 0.1 * ms  # what a pair of that length may be off without being odd
    weights = np.ones_like(ms)
    line = np.array([ASSUMED_ACCESS_MS, ASSUMED_MS_PER_KM])
    columns = np.stack([np.ones_like(km), km], axis=1)
    for _ in range(ROUNDS):
        line = _weighted_line(columns, ms, np.sqrt(weights) / noise)
        weights = 1.0 / np.maximum(np.abs(ms - columns @ line) / noise, 0.3)
    return DistanceModel(max(float(line[0]), 0.5), max(float(line[1]), LIGHT_MS_PER_KM))


def _weighted_line(columns: Floats, ms: Floats, weights: Floats) -> Floats:
    """Least squares with the assumption as two more observations."""
    share = np.sqrt(PRIOR_PAIRS) / (1.0 + 0.1 * (ASSUMED_ACCESS_MS + ASSUMED_MS_PER_KM * TYPICAL_KM))
    assumed = np.array([[share, 0.0], [0.0, share * TYPICAL_KM]])
    assumption = assumed @ np.array([ASSUMED_ACCESS_MS, ASSUMED_MS_PER_KM])
    rows = np.concatenate([columns * weights[:, None], assumed])
    found = np.linalg.lstsq(rows, np.concatenate([ms * weights, assumption]), rcond=None)[0]
    return np.asarray(found, dtype=np.float64)
