"""A site, the peers around its home and their loads -> who should crawl it, and whom to ask next.

The rule is local to the home: it looks at the peers within two hops, whose cards it has anyway, and at
those that measured the site. A peer's cost is its round trip to the site (measured; where nothing was
measured, the distance of their coordinates) plus a price for its load: what it would carry, over what a
peer of its capacity carries on average around here, times `price_ms`. A site moves only for a gain of
`gain_share` of what it costs now. Whom to ask next: the peer that promises the least cost, by how alike
the landmarks' round trips to it and to the site are; three dimensions do not hold the Internet, and the
round trips that points were made of say more than the points.

Why it ends: with peers and round trips as they are, a move lowers the sum over sites of round trips
plus `price_ms / 2 * load^2 / fair share`, which is bounded below, by at least a fixed share of what the
site costs; so there are finitely many moves between two changes from outside. A peer is asked once for
a site, and at most `measured_max` are, so asking ends too.

Law: columns, not cards: the simulator decides for thousands of sites by the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipmicra.model.zones import SpacePoint
from ipmicra.protocol.overlay_messages import PeerDescriptor

LoadColumn = NDArray[np.float64]
NOBODY = -1


@dataclass(frozen=True, slots=True)
class HandOverRule:
    """When a site leaves its home for a nearer or less loaded peer.

    A higher `price_ms` evens out loads and costs distance. While fewer than `measured_max` peers have
    measured a site (landmarks that placed it are counted), one more is asked; 0 asks nobody.
    """

    price_ms: float = 15.0
    gain_share: float = 0.05
    measured_max: int = 0


@dataclass(frozen=True, slots=True)
class Around:
    """The peers that a home can choose from, in columns; rows in the order of their names."""

    points: NDArray[np.float64]
    loads: LoadColumn
    capacities: LoadColumn

    @classmethod
    def of(cls, cards: Sequence[PeerDescriptor]) -> Around:
        return cls(
            np.array([card.point for card in cards], dtype=np.float64),
            np.array([card.load for card in cards], dtype=np.float64),
            np.array([card.capacity for card in cards], dtype=np.float64),
        )

    def fair_load(self, pages: float) -> float:
        """Load for one unit of capacity if the load around and the site's were spread evenly."""
        capacity = float(self.capacities.sum())
        return (float(self.loads.sum()) + pages) / capacity if capacity > 0 else 1.0


def prices_ms(around: Around, pages: float, present: int, rule: HandOverRule) -> LoadColumn:
    """What each peer's load adds to its cost, were the site with it."""
    carried = around.loads + pages
    if present != NOBODY:
        carried[present] -= pages
    capacity = np.maximum(around.capacities, 1e-9)
    return np.asarray(rule.price_ms * carried / capacity / max(around.fair_load(pages), 1e-9))


def distances_ms(point: SpacePoint, points: NDArray[np.float64]) -> LoadColumn:
    return np.asarray(np.sqrt(((points - np.asarray(point)) ** 2).sum(axis=1)))


def costs_ms(predicted: LoadColumn, measured: LoadColumn, prices: LoadColumn) -> LoadColumn:
    """Cost by row. Where anybody has a round trip to the site, only who has one is eligible."""
    known = np.isfinite(measured)
    nearness = np.where(known, measured, np.inf) if known.any() else predicted
    return np.asarray(nearness + prices)


def row_to_delegate(costs: LoadColumn, present: int, rule: HandOverRule) -> int:
    """Who should crawl the site: its present delegate, unless somebody is cheaper by enough."""
    best = int(np.argmin(costs))
    if present != NOBODY and math.isfinite(costs[present]):
        return best if costs[best] < costs[present] * (1 - rule.gain_share) else present
    return best


def promises_ms(to_landmarks: NDArray[np.float64], from_landmarks: LoadColumn) -> LoadColumn:
    """The least that each peer's round trip can be, by the landmarks that measured peer and site alike.

    By the triangle inequality no round trip is below the difference of the two to a landmark. Peers by
    rows, landmarks by columns; NaN where a peer does not know its round trip to a landmark.
    """
    bounds = np.abs(to_landmarks - from_landmarks)
    return np.asarray(np.where(np.isnan(bounds), 0.0, bounds).max(axis=1, initial=0.0))


def row_to_measure(promises: LoadColumn, measured: LoadColumn, prices: LoadColumn) -> int:
    """The peer that promises most of those that were not asked (NaN); NOBODY when all were."""
    asked = ~np.isnan(measured)
    if asked.all():
        return NOBODY
    return int(np.argmin(np.where(asked, np.inf, promises + prices)))
