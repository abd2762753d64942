"""Corners -> axis-parallel boxes, the shape of every zone.

Invariant: boxes are half-open, `low <= point < high` in each dimension, so boxes that tile a space give
each point one owner. No other module compares a box's bounds. The space is not a torus: coordinates
have ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

SpacePoint = tuple[float, ...]


class ZoneBox(msgspec.Struct, frozen=True, array_like=True):
    """One box; `low` and `high` are corners in milliseconds of network distance."""

    low: SpacePoint
    high: SpacePoint

    @property
    def dimensions(self) -> int:
        return len(self.low)

    @property
    def sides(self) -> SpacePoint:
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    @property
    def volume(self) -> float:
        return math.prod(self.sides)

    @property
    def centre(self) -> SpacePoint:
        return tuple((low + high) / 2 for low, high in zip(self.low, self.high, strict=True))

    def holds(self, point: SpacePoint) -> bool:
        return all(low <= x < high for low, x, high in zip(self.low, point, self.high, strict=True))

    def distance(self, point: SpacePoint) -> float:
        """Euclidean distance from the box's closure to the point; 0 inside."""
        squares = 0.0
        for low, x, high in zip(self.low, point, self.high, strict=True):
            gap = low - x if x < low else x - high
            if gap > 0.0:
                squares += gap * gap
        return math.sqrt(squares)

    def overlaps(self, other: ZoneBox) -> bool:
        return all(
            max(a, c) < min(b, d)
            for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True)
        )

    def abuts(self, other: ZoneBox) -> bool:
        """Whether the two share a face (not only an edge or a corner)."""
        touching = 0
        for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True):
            if b == c or d == a:
                touching += 1
            elif not max(a, c) < min(b, d):
                return False
        return touching == 1

    def cut(self, axis: int, at: float) -> tuple[ZoneBox, ZoneBox]:
        """The part below `at` and the part from `at` on; `at` lies inside."""
        assert self.low[axis] < at < self.high[axis], f"{at} does not cut axis {axis} of {self}"
        middle_high = (*self.high[:axis], at, *self.high[axis + 1 :])
        middle_low = (*self.low[:axis], at, *self.low[axis + 1 :])
        return ZoneBox(self.low, middle_high), ZoneBox(middle_low, self.high)

    def cuttable(self, axis: int, at: float) -> bool:
        return self.low[axis] < at < self.high[axis]

    def joined(self, other: ZoneBox) -> ZoneBox | None:
        """The box that both make together, if they make one."""
        differing = [
            axis
            for axis in range(self.dimensions)
            if (self.low[axis], self.high[axis]) != (other.low[axis], other.high[axis])
        ]
        if len(differing) != 1:
            return None
        axis = differing[0]
        lower, upper = (self, other) if self.low[axis] < other.low[axis] else (other, self)
        return ZoneBox(lower.low, upper.high) if lower.high[axis] == upper.low[axis] else None

    def without(self, other: ZoneBox) -> list[ZoneBox]:
        """The rest of this box without the other, as boxes."""
        if not self.overlaps(other):
            return [self]
        rest, left = self, []
        for axis in range(self.dimensions):
            if rest.low[axis] < other.low[axis]:
                outside, rest = rest.cut(axis, other.low[axis])
                left.append(outside)
            if other.high[axis] < rest.high[axis]:
                rest, outside = rest.cut(axis, other.high[axis])
                left.append(outside)
        return left


def merged(boxes: Iterable[ZoneBox]) -> tuple[ZoneBox, ...]:
    """The same region in fewer boxes: pairs that make a box are joined until none is left."""
    left = sorted(boxes, key=lambda box: (box.low, box.high))
    joined_one = True
    while joined_one:
        joined_one = False
        for i, first in enumerate(left):
            for j in range(i + 1, len(left)):
                both = first.joined(left[j])
                if both is not None:
                    left[j:] = left[j + 1 :]
                    left[i] = both
                    joined_one = True
                    break
            if joined_one:
                break
    return tuple(left)


def left_of(zones: Iterable[ZoneBox], taken: Iterable[ZoneBox]) -> list[ZoneBox]:
    """The rest of `zones` without all of `taken`."""
    left = list(zones)
    for box in taken:
        left = [piece for zone in left for piece in zone.without(box)]
    return left


def key_in(space: ZoneBox, point: SpacePoint) -> SpacePoint:
    """The point itself, or the nearest point of the half-open space where it lies outside."""
    return tuple(
        min(max(x, low), math.nextafter(high, low)) if math.isfinite(x) else (low + high) / 2
        for low, x, high in zip(space.low, point, space.high, strict=True)
    )
