"""Zones -> hops: letters go to the neighbour whose zone comes nearest to the key, as peers pass them on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipmicra.lab.overlay.zone_simulation import ZoneSimulation
from ipmicra.model.zones import SpacePoint


class Routes:
    """The neighbour table of every peer of a tiling."""

    def __init__(self, tiling: ZoneSimulation) -> None:
        self._low, self._high = tiling.low, tiling.high
        self.neighbours = [np.flatnonzero(tiling.neighbours(peer)) for peer in range(tiling.joined)]

    def counts(self) -> NDArray[np.int64]:
        return np.array([len(rows) for rows in self.neighbours])

    def hops(self, start: int, key: SpacePoint, looking_ahead: bool = True) -> int | None:
        """Hops from a peer to the owner of the key; None where the letter runs out of ways.

        Peers look ahead: they know their neighbours' neighbours. The paper's CAN does not.
        """
        distances = self._distances(key)
        at, seen, hops = start, {start}, 0
        while not ((self._low[at] <= key) & (key < self._high[at])).all():
            ways = [row for row in self.neighbours[at].tolist() if row not in seen]
            if not ways:
                return None
            at = min(ways, key=lambda row: self._nearness(row, distances, looking_ahead))
            seen.add(at)
            hops += 1
        return hops

    def _nearness(
        self, row: int, distances: NDArray[np.float64], looking_ahead: bool
    ) -> tuple[float, float, int]:
        own = float(distances[row])
        if not looking_ahead:
            return own, own, row
        return min(own, float(distances[self.neighbours[row]].min())), own, row

    def _distances(self, key: SpacePoint) -> NDArray[np.float64]:
        """From the key to every zone."""
        gaps = np.maximum(np.maximum(self._low - key, 0.0), key - self._high)
        return np.asarray(np.sqrt((gaps**2).sum(axis=1)))
