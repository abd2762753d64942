"""Peers that join one by one -> zones, by the same cuts that peers make, and the sites in them.

One zone per peer (no peer leaves), stored as columns so that an owner is found by comparing them all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipmicra.lab.overlay.setup import OverlaySetup
from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.overlay.can.zones.splitting import Scheme, Switch, cut_for

ZoneRows = NDArray[np.int64]


class ZoneSimulation:
    """The zones of the peers that have joined so far, and the home of each site inserted so far."""

    def __init__(self, scene: OverlaySetup) -> None:
        self.scene = scene
        dimensions = len(scene.space.low)
        self.low = np.zeros((scene.peers, dimensions))
        self.high = np.zeros((scene.peers, dimensions))
        self.low[0], self.high[0] = scene.space.low, scene.space.high
        self.joined = 1
        self.inserted = 0
        self.home: ZoneRows = np.full(scene.sites, -1)
        self._site_keys = np.array(scene.site_keys)
        self._splits = [0] * scene.peers

    def zone(self, peer: int) -> ZoneBox:
        return ZoneBox(tuple(map(float, self.low[peer])), tuple(map(float, self.high[peer])))

    def owner(self, key: SpacePoint) -> int:
        holding = (self.low[: self.joined] <= key) & (key < self.high[: self.joined])
        return int(np.argmax(holding.all(axis=1)))

    def loads(self) -> NDArray[np.float64]:
        """Sites a peer."""
        homes = self.home[: self.inserted]
        return np.bincount(homes, minlength=self.scene.peers)[: self.joined].astype(np.float64)

    def insert(self, until: int) -> None:
        for site in range(self.inserted, until):
            self.home[site] = self.owner(self.scene.site_keys[site])
        self.inserted = max(self.inserted, until)

    def neighbours(self, peer: int) -> NDArray[np.bool_]:
        """By row: whose zone shares a face with this peer's."""
        low, high = self.low[: self.joined], self.high[: self.joined]
        touching = (high == self.low[peer]) | (low == self.high[peer])
        meeting = np.maximum(low, self.low[peer]) < np.minimum(high, self.high[peer])
        return np.asarray((touching | meeting).all(axis=1) & (touching.sum(axis=1) == 1))

    def join(self, scheme: Scheme) -> None:
        """The next peer joins."""
        newcomer, key = self.joined, self.scene.peer_keys[self.joined]
        owner = self._splitter(scheme, self.owner(key))
        inside = np.flatnonzero(self.home[: self.inserted] == owner)
        keys = [self.scene.site_keys[site] for site in inside]
        cut = cut_for(
            scheme, self.zone(owner), self.scene.peer_keys[owner], key, keys, self._splits[owner]
        )
        self._splits[owner] += 1
        self._splits[newcomer] = self._splits[owner]
        self.low[owner], self.high[owner] = cut.kept.low, cut.kept.high
        self.low[newcomer], self.high[newcomer] = cut.given.low, cut.given.high
        self.joined += 1
        given = (self._site_keys[inside] >= cut.given.low) & (self._site_keys[inside] < cut.given.high)
        self.home[inside[given.all(axis=1)]] = newcomer

    def _splitter(self, scheme: Scheme, owner: int) -> int:
        """Whose zone is split: the owner's, or the most loaded one that the scheme looks at."""
        if scheme.name not in ("NH", "GH"):
            return owner
        loads = self.loads()
        looked_at = self.neighbours(owner) if scheme.name == "NH" else np.ones(self.joined, dtype=bool)
        looked_at[owner] = True
        rows = np.flatnonzero(looked_at)
        return int(max(rows, key=lambda row: (loads[row], row == owner, row)))

    def in_zone(self) -> NDArray[np.bool_]:
        """By peer: whether it stands in its own zone."""
        keys = np.array(self.scene.peer_keys[: self.joined])
        inside = (self.low[: self.joined] <= keys) & (keys < self.high[: self.joined])
        return np.asarray(inside.all(axis=1))


def grown(scene: OverlaySetup, switch_text: str) -> ZoneSimulation:
    """All peers joined and all sites inserted, as Table I has it."""
    tiling, switch = ZoneSimulation(scene), Switch.parse(switch_text)
    tiling.insert(scene.inserted_by(1))
    for joined in range(1, scene.peers):
        tiling.join(Scheme.parse(switch.scheme_for(joined, scene.peers)))
        tiling.insert(scene.inserted_by(joined + 1))
    return tiling
