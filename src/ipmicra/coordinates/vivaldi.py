"""One measured round trip at a time -> a point that converges (Vivaldi with height).

Dabek, Cox, Kaashoek and Morris, 2004. Needs no landmarks: each node keeps its own coordinate, and
after each measurement against a peer moves a little along the line between them, by as much as it
trusts the peer more than itself. Height is the part of every round trip that is spent on the node's
own access link.

Invariant: an update returns a new coordinate, finite for any input; a measurement that is not a number,
not positive, or absurd changes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

SENSITIVITY = 0.25  # c_c and c_e of the paper: more follows faster and shakes more
ERROR_MAX = 1.5  # of a node that knows nothing; also the ceiling
HEIGHT_MIN_MS = 0.01  # heights stay positive, so that directions stay defined
ROUND_TRIP_MAX_MS = 30_000.0  # slower than this is a lost packet, not a distance
ERROR_MIN = 1e-3


@dataclass(frozen=True, slots=True)
class Coordinate:
    """A place in the space, in milliseconds, and how far it may be trusted (relative error)."""

    position_ms: tuple[float, ...]
    height_ms: float = HEIGHT_MIN_MS
    error: float = ERROR_MAX

    @classmethod
    def origin(cls, dimensions: int) -> Coordinate:
        return cls((0.0,) * dimensions)

    def distance_ms(self, other: Coordinate) -> float:
        """The round trip that the two coordinates predict."""
        return math.dist(self.position_ms, other.position_ms) + self.height_ms + other.height_ms


def moved(mine: Coordinate, peer: Coordinate, round_trip_ms: float, dice: Random) -> Coordinate:
    """My coordinate after one measurement against a peer. `dice` parts nodes that stand on one spot."""
    if not _usable(mine, peer, round_trip_ms):
        return mine
    trust = mine.error / max(mine.error + peer.error, ERROR_MIN)
    relative_error = abs(mine.distance_ms(peer) - round_trip_ms) / round_trip_ms
    pull = SENSITIVITY * trust
    error = relative_error * pull + mine.error * (1 - pull)
    force_ms = pull * (round_trip_ms - mine.distance_ms(peer))
    direction, apart_ms = _direction(mine, peer, dice)
    spread_ms = max(apart_ms + mine.height_ms + peer.height_ms, HEIGHT_MIN_MS)
    position = tuple(
        at + force_ms * toward * apart_ms / spread_ms if apart_ms > 0 else at + force_ms * toward
        for at, toward in zip(mine.position_ms, direction, strict=True)
    )
    height = max(
        mine.height_ms + force_ms * (mine.height_ms + peer.height_ms) / spread_ms, HEIGHT_MIN_MS
    )
    return Coordinate(position, height, min(max(error, ERROR_MIN), ERROR_MAX))


def _usable(mine: Coordinate, peer: Coordinate, round_trip_ms: float) -> bool:
    return (
        math.isfinite(round_trip_ms)
        and 0 < round_trip_ms <= ROUND_TRIP_MAX_MS
        and len(mine.position_ms) == len(peer.position_ms)
        and all(math.isfinite(value) for value in (*peer.position_ms, peer.height_ms, peer.error))
        and peer.height_ms >= 0
        and peer.error >= 0
        and mine.distance_ms(peer) < 2 * ROUND_TRIP_MAX_MS
    )


def _direction(mine: Coordinate, peer: Coordinate, dice: Random) -> tuple[tuple[float, ...], float]:
    """The unit vector from the peer to me and the Euclidean distance; any direction where we coincide."""
    offset = tuple(a - b for a, b in zip(mine.position_ms, peer.position_ms, strict=True))
    length = math.hypot(*offset)
    if length > 1e-9:
        return tuple(value / length for value in offset), length
    drawn = tuple(dice.gauss(0.0, 1.0) for _ in offset)
    length = math.hypot(*drawn) or 1.0
    return tuple(value / length for value in drawn), 0.0
