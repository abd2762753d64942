"""Points seen so far -> the bounded space that a CAN divides, and points moved into it.

The CAN-on-NC paper (II, V.A) bounds each dimension by the region that most hosts occupy, and moves points
outside to the boundary. The clamped point decides the owner of a site; evaluations measure with the
original point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipmicra.errors import OperatorFault

Points = NDArray[np.float64]
KEPT_SHARE = 0.95  # of the points, in each dimension; the paper's 5 % are outliers


@dataclass(frozen=True, slots=True)
class Space:
    """A box, closed on all sides; `low` and `high` in milliseconds, one value a dimension."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def around(cls, points: Points, kept_share: float = KEPT_SHARE) -> Space:
        """The box that holds the middle `kept_share` of the finite points in every dimension."""
        finite = points[np.isfinite(points).all(axis=1)]
        if not len(finite):
            raise OperatorFault("a space needs at least one finite point")
        outside = (1 - kept_share) / 2
        low = np.quantile(finite, outside, axis=0)
        high = np.quantile(finite, 1 - outside, axis=0)
        high = np.where(high > low, high, low + 1.0)
        return cls(tuple(map(float, low)), tuple(map(float, high)))

    @property
    def dimensions(self) -> int:
        return len(self.low)

    def clamped(self, points: Points) -> Points:
        """The same points, those outside moved to the boundary; what is not a number goes to the middle."""
        low, high = np.array(self.low), np.array(self.high)
        known = np.where(np.isnan(points), (low + high) / 2, points)
        return np.asarray(np.clip(known, low, high))

    def holds(self, point: tuple[float, ...]) -> bool:
        return all(low <= x <= high for low, x, high in zip(self.low, point, self.high, strict=True))
