"""Zones and sites -> the crawler of each site after the homes have handed them over, and the cost.

The homes' work is done here site by site, by the same functions: ask the most promising peer until enough
have measured the site; then review all sites in rounds until a round moves none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipmicra.lab.overlay.setup import OverlaySetup
from ipmicra.lab.overlay.zone_simulation import ZoneSimulation
from ipmicra.model.zones import SpacePoint
from ipmicra.overlay.can.sites.nearness import (
    NO_PEER,
    HandOverRule,
    NearbyPeers,
    costs_ms,
    distances_ms,
    lower_bounds_ms,
    prices_ms,
    row_to_delegate,
    row_to_measure,
)

ROUNDS_MAX = 50
RoundTripRows = NDArray[np.int64]


@dataclass
class HandoverResult:
    """The outcome: delegates by site, and what it took."""

    delegate: RoundTripRows
    probes: RoundTripRows  # a site, the landmarks' counted
    moves: int
    rounds: int
    measured_ms: NDArray[np.float64]  # site by peer; NaN where not measured


class HandoverSimulation:
    """All homes of one tiling, reviewing their sites."""

    def __init__(self, tiling: ZoneSimulation, rule: HandOverRule) -> None:
        self.scene: OverlaySetup = tiling.scene
        self.rule = rule
        self.home = tiling.home
        self.adjacent = adjacency(tiling)
        steps = self.adjacent.astype(np.float64)
        self.two_hops = self.adjacent | (steps @ steps > 0) | np.eye(len(steps), dtype=bool)
        self.delegate = tiling.home.copy()
        self.loads = tiling.loads()
        self.capacities = np.ones(len(self.loads))
        self.alive = np.ones(len(self.loads), dtype=bool)
        self.measured_ms = np.full((self.scene.sites, self.scene.peers), np.nan)
        self.probes = np.full(self.scene.sites, len(self.scene.landmarks))
        self.moves = 0
        landmarks = list(self.scene.landmarks)
        self.to_landmarks_ms = self.scene.mutual_ms[:, landmarks]
        if rule.measured_max:  # landmarks that measured a site are peers that measured it
            self.measured_ms[:, landmarks] = self.scene.round_trips_ms[landmarks].T

    def done(self) -> HandoverResult:
        if self.rule.measured_max:
            for site in range(self.scene.sites):
                self._explore(site)
        rounds = self.settle()
        return HandoverResult(self.delegate, self.probes, self.moves, rounds, self.measured_ms)

    def crash(self, dead: RoundTripRows) -> None:
        """Peers are gone; their sites wait for the next review."""
        self.alive[dead] = False
        self.loads[dead] = 0.0

    def settle(self) -> int:
        """Rounds until one moves nothing."""
        for number in range(1, ROUNDS_MAX + 1):
            if not sum(self._review(site) for site in range(self.scene.sites)):
                return number
        return ROUNDS_MAX

    def _candidates(self, site: int) -> RoundTripRows:
        """The home's two-hop neighbours, the peers that measured the site, and the neighbours of the best
        of these.
        """
        known = np.isfinite(self.measured_ms[site])
        candidates = self.two_hops[self.home[site]] | known
        if known.any():
            candidates |= self.adjacent[np.nanargmin(self.measured_ms[site])]
        return np.flatnonzero(candidates & self.alive)

    def _columns(self, rows: RoundTripRows) -> NearbyPeers:
        return NearbyPeers(self.scene.peer_points[rows], self.loads[rows], self.capacities[rows])

    def _review(self, site: int) -> bool:
        rows = self._candidates(site)
        around, present = self._columns(rows), self._present(site, rows)
        predicted = distances_ms(self._point(site), around.points)
        prices = prices_ms(around, 1.0, present, self.rule)
        costs = costs_ms(predicted, self.measured_ms[site, rows], prices)
        chosen = int(rows[row_to_delegate(costs, present, self.rule)])
        return self._move(site, chosen)

    def _present(self, site: int, rows: RoundTripRows) -> int:
        places = np.flatnonzero(rows == self.delegate[site])
        return int(places[0]) if len(places) else NO_PEER

    def _move(self, site: int, to: int) -> bool:
        if to == self.delegate[site]:
            return False
        self.loads[self.delegate[site]] -= 1
        self.loads[to] += 1
        self.delegate[site] = to
        self.moves += 1
        return True

    def _explore(self, site: int) -> None:
        """Ask the most promising peers until `measured_max` have measured the site."""
        from_landmarks_ms = self.measured_ms[site, list(self.scene.landmarks)]
        while self.probes[site] < self.rule.measured_max:
            rows = self._candidates(site)
            lower_bounds = lower_bounds_ms(self.to_landmarks_ms[rows], from_landmarks_ms)
            prices = prices_ms(self._columns(rows), 1.0, self._present(site, rows), self.rule)
            chosen = row_to_measure(lower_bounds, self.measured_ms[site, rows], prices)
            if chosen == NO_PEER:
                break
            self.measured_ms[site, rows[chosen]] = self.scene.round_trips_ms[rows[chosen], site]
            self.probes[site] += 1
        self._review(site)

    def _point(self, site: int) -> SpacePoint:
        return tuple(map(float, self.scene.site_points[site]))


def adjacency(tiling: ZoneSimulation) -> NDArray[np.bool_]:
    return np.array([tiling.neighbours(peer) for peer in range(tiling.joined)])
