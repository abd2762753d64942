"""Round trips that were measured -> what to believe of the rest, by what a region's units share.

A region is the units with the same nearest crawler, by what was measured. Its rows of round trips are
taken for draws from one normal distribution: the mean says how far a region is from every crawler, the
covariance which crawlers are slow together and how much its units differ. Both are fitted to the
measured entries alone (expectation and maximisation, Dempster, Laird and Rubin 1977), so each answer
teaches about the same unit's other round trips and about the other units of its region.

Invariant: nothing is believed outside the triangle's bounds, nor less surely than they say. A region of which
little was measured is believed to lie where its crawler stands, and to vary as regions do everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.balancing.estimates import FloatArray, RoundTripEstimate, TriangleEstimator

ITERATIONS = 8  # of fitting; chosen, not measured
UNFITTED_SHARE = 0.1  # of the mean mutual round trip: how much units differ before any is seen
ALIKE_SHARE = 0.25  # of that: what a unit is slower or faster to all crawlers alike
NOISE_MS = 1.0  # of a measurement; keeps the equations solvable
UNITS_AT_ONCE = 512  # bounds the memory: this many times crawlers squared


class _Regions(NamedTuple):
    """Region by crawler, and region by crawler by crawler."""

    mean_ms: FloatArray
    covariance: FloatArray


class _Filled(NamedTuple):
    """Units with their unmeasured entries filled in, and the possible errors of these."""

    round_trips_ms: FloatArray  # unit by crawler
    variance: FloatArray  # unit by crawler
    covariance_sum: FloatArray  # crawler by crawler, over all units


class RegionalEstimator:
    """From the crawlers' round trips to each other and all that was measured of all units."""

    def __init__(self, mutual_ms: FloatArray) -> None:
        """`mutual_ms`: crawler by crawler, 0 on the diagonal."""
        self._mutual_ms = mutual_ms
        self._triangle = TriangleEstimator(mutual_ms)
        self._unfitted = (UNFITTED_SHARE * float(mutual_ms.mean())) ** 2 + NOISE_MS**2

    def __call__(self, known_ms: FloatArray) -> RoundTripEstimate:
        middle_ms, widest_ms = self._triangle(known_ms)
        region = _nearest(known_ms)
        regions = self._fitted(known_ms, region)
        believed, spread = middle_ms.copy(), widest_ms.copy()
        for number in np.unique(region).tolist():
            rows = region == number
            filled = _filled(known_ms[rows], regions.mean_ms[number], regions.covariance[number])
            counts = np.isfinite(known_ms[rows]).sum(axis=0)
            of_mean = np.diag(regions.covariance[number]) / (counts + 1)  # the mean is a guess as well
            believed[rows], spread[rows] = filled.round_trips_ms, np.sqrt(filled.variance + of_mean)
        least_ms, most_ms = self._triangle.bounds(known_ms)
        believed = np.clip(believed, least_ms, most_ms)
        unknown = np.isnan(known_ms)
        return RoundTripEstimate(
            np.where(unknown, believed, middle_ms), np.where(unknown, np.minimum(spread, widest_ms), 0.0)
        )

    def _fitted(self, known_ms: FloatArray, region: NDArray[np.int64]) -> _Regions:
        crawlers = len(self._mutual_ms)
        alike = self._unfitted * (np.eye(crawlers) + ALIKE_SHARE)
        regions = _Regions(self._mutual_ms.copy(), np.repeat(alike[None], crawlers, axis=0))
        for _ in range(ITERATIONS):
            regions = self._refitted(regions, known_ms, region)
        return regions

    def _refitted(self, regions: _Regions, known_ms: FloatArray, region: NDArray[np.int64]) -> _Regions:
        """One step: fill the gaps by the regions, then take the regions' figures from what is filled."""
        crawlers = len(self._mutual_ms)
        means, scatters = np.empty_like(regions.mean_ms), np.empty_like(regions.covariance)
        for number in range(crawlers):
            rows = known_ms[region == number]
            filled = _filled(rows, regions.mean_ms[number], regions.covariance[number])
            own = self._mutual_ms[number]
            means[number] = (filled.round_trips_ms.sum(axis=0) + own) / (len(rows) + 1)
            examples = np.vstack((filled.round_trips_ms, own)) - means[number]
            scatters[number] = examples.T @ examples + filled.covariance_sum
        counts = np.bincount(region, minlength=crawlers)[:, None, None] + 1
        everywhere = scatters.sum(axis=0) + self._unfitted * np.eye(crawlers)
        everywhere /= len(known_ms) + crawlers + 1
        return _Regions(means, (scatters + crawlers * everywhere) / (counts + crawlers))


def _filled(known_ms: FloatArray, mean_ms: FloatArray, covariance: FloatArray) -> _Filled:
    """Each unit's unmeasured entries as its measured ones let expect; a few units at a time."""
    filled, variance = np.empty_like(known_ms), np.empty_like(known_ms)
    covariance_sum = np.zeros_like(covariance)
    for begin in range(0, len(known_ms), UNITS_AT_ONCE):
        some = slice(begin, begin + UNITS_AT_ONCE)
        measured = np.isfinite(known_ms[some])
        seen = covariance * measured[:, :, None]  # rows: measured; columns: all
        among = seen * measured[:, None, :] + NOISE_MS**2 * np.eye(len(mean_ms))
        pull = np.linalg.solve(among, seen)
        off_ms = np.where(measured, known_ms[some] - mean_ms, 0.0)
        filled[some] = np.where(
            measured, known_ms[some], mean_ms + np.einsum("gmc,gm->gc", pull, off_ms)
        )
        left = covariance - np.einsum("gmc,gmd->gcd", pull, seen)
        left *= ~measured[:, :, None] & ~measured[:, None, :]
        variance[some] = np.maximum(np.einsum("gcc->gc", left), 0.0)
        covariance_sum += left.sum(axis=0)
    return _Filled(filled, variance, covariance_sum)


def _nearest(known_ms: FloatArray) -> NDArray[np.int64]:
    """For each unit the crawler that measured the shortest round trip; the first where none did."""
    return np.asarray(np.where(np.isfinite(known_ms), known_ms, np.inf).argmin(axis=1), dtype=np.int64)
