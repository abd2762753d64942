"""A world and a seed -> peers in the order of joining, sites in the order of insertion, all placed by GNP.

Table I of the CAN-on-NC paper gives the proportions: of the sites, some are inserted while there is one
peer, some with each joining, the rest in the end; landmarks are crawlers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ipmicra.coordinates.gnp import landmark_points, points_against
from ipmicra.coordinates.space import Space
from ipmicra.errors import OperatorFault
from ipmicra.lab.simulation.sampling import candidates, draw_sites
from ipmicra.lab.world import Milliseconds, World
from ipmicra.model.zones import SpacePoint, ZoneBox, key_in

LANDMARKS = 20
PEERS_LEAST = 40  # twice the landmarks, where the paper's share would be fewer
PEERS_SHARE_OF_KING = 140 / 1740
TRANSIT_STUB_NODES = 2500  # a world of more places has the proportions of the paper's TS
PEERS_SHARE_OF_TS = 200 / 3000


@dataclass(frozen=True)
class OverlaySetup:
    """Peers by rows, in the order of joining; sites in the order of insertion. Points in ms."""

    landmarks: tuple[int, ...]  # rows of the peers that are landmarks
    peer_points: NDArray[np.float64]
    site_points: NDArray[np.float64]
    space: ZoneBox
    peer_keys: list[SpacePoint]
    site_keys: list[SpacePoint]
    mutual_ms: Milliseconds  # peer by peer
    round_trips_ms: Milliseconds  # peer by site: the truth

    @property
    def peers(self) -> int:
        return len(self.peer_points)

    @property
    def sites(self) -> int:
        return len(self.site_points)

    def landmarks_spread(self, count: int) -> list[int]:
        """The given number of landmarks, each the farthest from those before it."""
        chosen = [self.landmarks[0]]
        while len(chosen) < min(count, len(self.landmarks)):
            offsets = self.peer_points[list(self.landmarks)][:, None] - self.peer_points[chosen][None]
            chosen.append(self.landmarks[int(np.argmax((offsets**2).sum(axis=2).min(axis=1)))])
        return sorted(chosen)

    def placed_by(self, landmarks: list[int]) -> OverlaySetup:
        """The same scene with the sites where these landmarks alone would place them."""
        points = points_against(self.peer_points[landmarks], self.round_trips_ms[landmarks].T)
        return replace(
            self,
            landmarks=tuple(landmarks),
            site_points=points,
            site_keys=keys_of(self.space, points),
        )

    def inserted_by(self, joined: int) -> int:
        """Number of submitted sites when this many peers have joined (Table I)."""
        first, last = round(0.07 * self.sites), round(0.78 * self.sites)
        if joined >= self.peers:
            return self.sites
        return first + (last - first) * (joined - 1) // max(1, self.peers - 1)


def peers_for(world: World) -> int:
    share = PEERS_SHARE_OF_TS if len(world.places) > TRANSIT_STUB_NODES else PEERS_SHARE_OF_KING
    return max(PEERS_LEAST, round(share * len(world.places)))


def setup_of(world: World, seed: int, number: int, peers: int) -> OverlaySetup:
    """The scene of that number under that seed."""
    dice = np.random.default_rng([seed, number, peers])
    draw = draw_sites(world, _places_at_random(world, dice, peers), dice, number)
    mutual_ms, round_trips_ms = draw.mutual_ms, draw.round_trips_ms
    landmarks = np.sort(dice.permutation(peers)[:LANDMARKS])
    reference = landmark_points(mutual_ms[np.ix_(landmarks, landmarks)])
    peer_points = points_against(reference, mutual_ms[:, landmarks])
    peer_points[landmarks] = reference
    site_points = points_against(reference, round_trips_ms[landmarks].T)
    space = Space.around(np.concatenate([peer_points, site_points]))
    box = ZoneBox(space.low, space.high)
    return OverlaySetup(
        tuple(int(row) for row in landmarks),
        peer_points,
        site_points,
        box,
        keys_of(box, peer_points),
        keys_of(box, site_points),
        mutual_ms,
        round_trips_ms,
    )


def _places_at_random(world: World, dice: np.random.Generator, count: int) -> tuple[int, ...]:
    """Places with known round trips to each other, each as likely as the next, as in the paper."""
    chosen: list[int] = []
    for place in dice.permutation(candidates(world)):
        if len(chosen) < count and np.isfinite(world.round_trips_ms[place, chosen]).all():
            chosen.append(int(place))
    if len(chosen) < count:
        raise OperatorFault(f"{world.name}: only {len(chosen)} of {count} peers know their round trips")
    return tuple(chosen)


def keys_of(space: ZoneBox, points: NDArray[np.float64]) -> list[SpacePoint]:
    return [key_in(space, tuple(map(float, point))) for point in points]
