"""Round trips that were measured -> what to believe of those that were not.

Invariant: a belief has a value and a spread everywhere, and repeats what was measured with spread 0. It is
handed in: a strategy that knows more (countries, organisations, past sites) hands in its own.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]

NO_ANSWER_FACTOR = 10.0  # times the slowest round trip there is: what silence is taken for
SPREAD_SHARE = 12**-0.5  # of the width between the bounds: as if all between them were alike likely


class RoundTripEstimate(NamedTuple):
    """Unit by crawler."""

    round_trips_ms: FloatArray
    spread_ms: FloatArray


class RoundTripEstimator(Protocol):
    """NaN in `known_ms` is unknown, infinite is a silence."""

    def __call__(self, known_ms: FloatArray) -> RoundTripEstimate: ...


class TriangleEstimator:
    """Estimates from the crawlers' round trips to each other only.

    If one crawler measured r, another at distance d from it lies between |d - r| and d + r; the middle of
    the narrowest such bounds is the estimate.
    """

    def __init__(self, mutual_ms: FloatArray) -> None:
        """`mutual_ms`: crawler by crawler, 0 on the diagonal."""
        self._mutual_ms = mutual_ms

    def __call__(self, known_ms: FloatArray) -> RoundTripEstimate:
        measured = np.isfinite(known_ms)
        least, most = self.bounds(known_ms)
        slowest = float(known_ms[measured].max(initial=float(self._mutual_ms.max(initial=1.0))))
        middle = np.where(measured, known_ms, (least + most) / 2)
        middle[np.isinf(known_ms)] = NO_ANSWER_FACTOR * slowest
        spread = np.where(np.isnan(known_ms), np.maximum(1.0, SPREAD_SHARE * (most - least)), 0.0)
        return RoundTripEstimate(middle, spread)

    def bounds(self, known_ms: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the most that the triangle allows."""
        measured = np.isfinite(known_ms)
        least = np.zeros_like(known_ms)
        most = np.full_like(known_ms, 2 * float(self._mutual_ms.max(initial=1.0)))
        for crawler, mutual_ms in enumerate(self._mutual_ms):  # one at a time: memory stays the table's
            rows = measured[:, crawler]
            own = known_ms[rows, crawler][:, None]
            least[rows] = np.maximum(least[rows], np.abs(mutual_ms[None, :] - own))
            most[rows] = np.minimum(most[rows], mutual_ms[None, :] + own)
        return least, np.maximum(most, least)  # routes that break the triangle cross the bounds
