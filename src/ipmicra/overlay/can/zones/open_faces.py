"""Our zones and our neighbours' -> the parts of our zone faces without a known neighbour, and the gap behind.

Where zones tile the space, every part of every face is either the end of the space or borders a neighbour.
A part that is neither shows an unknown neighbour or a gap: a region whose owner died together with all
peers that knew it. The check needs no history, so it finds what all other rules have missed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from ipmicra.model.zones import SpacePoint, ZoneBox, left_of


class OpenFace(NamedTuple):
    """A part of a zone's face: the outside begins at `at` on `axis`, upwards or downwards."""

    axis: int
    upwards: bool
    at: float
    part: ZoneBox  # without the axis

    def point_beyond(self) -> SpacePoint:
        """A point just outside."""
        x = self.at if self.upwards else math.nextafter(self.at, -math.inf)
        centre = self.part.centre
        return (*centre[: self.axis], x, *centre[self.axis :])

    def gap(self, space: ZoneBox, others: Iterable[ZoneBox]) -> ZoneBox | None:
        """The free region outside of the face; None when a zone begins right there."""
        ends = [space.high[self.axis] if self.upwards else space.low[self.axis]]
        for zone in others:
            near, far = zone.low[self.axis], zone.high[self.axis]
            if _without(zone, self.axis).overlaps(self.part) and (
                far > self.at if self.upwards else near < self.at
            ):
                ends.append(max(near, self.at) if self.upwards else min(far, self.at))
        end = min(ends) if self.upwards else max(ends)
        if end == self.at:
            return None
        low, high = (self.at, end) if self.upwards else (end, self.at)
        return ZoneBox(_with(self.part.low, self.axis, low), _with(self.part.high, self.axis, high))


def open_faces(mine: Iterable[ZoneBox], others: Iterable[ZoneBox], space: ZoneBox) -> list[OpenFace]:
    """The parts of our faces that border neither the end of the space nor another zone."""
    own, around = list(mine), list(others)
    return [
        OpenFace(axis, upwards, at, part)
        for zone in own
        for axis in range(zone.dimensions)
        for upwards, at, end in (
            (True, zone.high[axis], space.high[axis]),
            (False, zone.low[axis], space.low[axis]),
        )
        if at != end
        for part in _uncovered(zone, axis, at, upwards, [*own, *around])
    ]


def _uncovered(
    zone: ZoneBox, axis: int, at: float, upwards: bool, others: list[ZoneBox]
) -> list[ZoneBox]:
    covering = [
        _without(other, axis)
        for other in others
        if (
            other.low[axis] <= at < other.high[axis]
            if upwards
            else other.low[axis] < at <= other.high[axis]
        )
    ]
    return left_of([_without(zone, axis)], covering)


def _without(zone: ZoneBox, axis: int) -> ZoneBox:
    return ZoneBox(
        (*zone.low[:axis], *zone.low[axis + 1 :]), (*zone.high[:axis], *zone.high[axis + 1 :])
    )


def _with(point: SpacePoint, axis: int, x: float) -> SpacePoint:
    return (*point[:axis], x, *point[axis:])
