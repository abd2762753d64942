"""A site, the peers near its home and their loads -> the peer that should crawl it, and the next to measure.

The rule is local to the home: it considers the peers within two hops, whose descriptors it has anyway,
and those that measured the site. A peer's cost is its round trip to the site (measured; without any
measurement, the distance of the coordinates) plus a price for its load: what it would carry, divided by
what a peer of its capacity carries here on average, times `price_ms`. A site moves only for a gain of
`gain_share` of its present cost. The next peer to measure is the one with the lowest possible cost, judged
by how similar the landmarks' round trips to it and to the site are: three dimensions do not represent the
Internet exactly, and the round trips that the points were computed from carry more information.

Termination: with constant peers and round trips, each move lowers the sum over all sites of round trips
plus `price_ms / 2 * load^2 / fair share`, which is bounded below, by at least a fixed share of the site's
cost; so the number of moves between two external changes is finite. A peer is asked once per site, and at
most `measured_max` peers are asked, so measuring ends too.

Invariant: columns, not descriptors: the simulator decides for thousands of sites with the same functions.
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
NO_PEER = -1


@dataclass(frozen=True, slots=True)
class HandOverRule:
    """When a site leaves its home for a nearer or less loaded peer.

    A higher `price_ms` balances loads and costs distance. While fewer than `measured_max` peers have
    measured a site (including the landmarks that placed it), one more is asked; 0 disables measuring.
    """

    price_ms: float = 15.0
    gain_share: float = 0.05
    measured_max: int = 0


@dataclass(frozen=True, slots=True)
class NearbyPeers:
    """The peers that a home can choose from, in columns; rows are ordered by peer name."""

    points: NDArray[np.float64]
    loads: LoadColumn
    capacities: LoadColumn

    @classmethod
    def of(cls, descriptors: Sequence[PeerDescriptor]) -> NearbyPeers:
        return cls(
            np.array([descriptor.point for descriptor in descriptors], dtype=np.float64),
            np.array([descriptor.load for descriptor in descriptors], dtype=np.float64),
            np.array([descriptor.capacity for descriptor in descriptors], dtype=np.float64),
        )

    def fair_load(self, pages: float) -> float:
        """Load per unit of capacity if the nearby load and the site's were spread evenly."""
        capacity = float(self.capacities.sum())
        return (float(self.loads.sum()) + pages) / capacity if capacity > 0 else 1.0


def prices_ms(around: NearbyPeers, pages: float, present: int, rule: HandOverRule) -> LoadColumn:
    """What each peer's load adds to its cost if it crawled the site."""
    carried = around.loads + pages
    if present != NO_PEER:
        carried[present] -= pages
    capacity = np.maximum(around.capacities, 1e-9)
    return np.asarray(rule.price_ms * carried / capacity / max(around.fair_load(pages), 1e-9))


def distances_ms(point: SpacePoint, points: NDArray[np.float64]) -> LoadColumn:
    return np.asarray(np.sqrt(((points - np.asarray(point)) ** 2).sum(axis=1)))


def costs_ms(predicted: LoadColumn, measured: LoadColumn, prices: LoadColumn) -> LoadColumn:
    """Cost by row. If any peer has measured the site, only the peers that measured it are eligible."""
    known = np.isfinite(measured)
    nearness = np.where(known, measured, np.inf) if known.any() else predicted
    return np.asarray(nearness + prices)


def row_to_delegate(costs: LoadColumn, present: int, rule: HandOverRule) -> int:
    """The row to crawl the site: its present delegate, unless another is cheaper by `gain_share`."""
    best = int(np.argmin(costs))
    if present != NO_PEER and math.isfinite(costs[present]):
        return best if costs[best] < costs[present] * (1 - rule.gain_share) else present
    return best


def lower_bounds_ms(to_landmarks: NDArray[np.float64], from_landmarks: LoadColumn) -> LoadColumn:
    """The least that each peer's round trip can be, from the landmarks that measured both peer and site.

    By the triangle inequality no round trip is below the difference of the two to a landmark. Peers by
    rows, landmarks by columns; NaN where a peer does not know its round trip to a landmark.
    """
    bounds = np.abs(to_landmarks - from_landmarks)
    return np.asarray(np.where(np.isnan(bounds), 0.0, bounds).max(axis=1, initial=0.0))


def row_to_measure(lower_bounds: LoadColumn, measured: LoadColumn, prices: LoadColumn) -> int:
    """The row with the lowest bound of those that were not measured (NaN); NO_PEER when all were."""
    asked = ~np.isnan(measured)
    if asked.all():
        return NO_PEER
    return int(np.argmin(np.where(asked, np.inf, lower_bounds + prices)))
