"""Dead peers -> the new crawlers of their sites if a zone goes to one neighbour, as in CAN."""

from __future__ import annotations

import numpy as np

from ipmicra.lab.overlay.handover_simulation import adjacency
from ipmicra.lab.overlay.zone_simulation import ZoneRows, ZoneSimulation


def inherited(tiling: ZoneSimulation, dead: ZoneRows, *, by_nearness: bool) -> ZoneRows:
    """By site: its crawler after each dead peer's zone went to the smallest, or nearest, living neighbour.

    Where all neighbours died, their living neighbours are asked, and so on outwards.
    """
    adjacent = adjacency(tiling)
    living = np.ones(tiling.joined, dtype=bool)
    living[dead] = False
    crawler = tiling.home.copy()
    for peer in dead:
        reached = adjacent[peer]
        while not (reached & living).any():
            reached = reached | adjacent[reached].any(axis=0)
        crawler[tiling.home == peer] = _heir(
            tiling, int(peer), np.flatnonzero(reached & living), by_nearness
        )
    return crawler


def _heir(tiling: ZoneSimulation, peer: int, candidates: ZoneRows, by_nearness: bool) -> int:
    if by_nearness:
        centre = (tiling.low[peer] + tiling.high[peer]) / 2
        offsets = tiling.scene.peer_points[candidates] - centre
        return int(candidates[np.argmin((offsets**2).sum(axis=1))])
    volumes = (tiling.high[candidates] - tiling.low[candidates]).prod(axis=1)
    return int(candidates[np.argmin(volumes)])
