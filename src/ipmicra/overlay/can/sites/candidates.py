"""What a home knows about peers -> the peers that it can choose from for one site.

Candidates are the peers within two hops, those that measured the site, and the neighbours of the nearest
of these. So the search leaves the home's neighbourhood where the coordinates were misleading.
"""

from __future__ import annotations

import numpy as np

from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.sites.nearness import (
    NO_PEER,
    HandOverRule,
    LoadColumn,
    NearbyPeers,
    costs_ms,
    distances_ms,
    lower_bounds_ms,
    prices_ms,
    row_to_delegate,
    row_to_measure,
)
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteMeasured, SiteRecord


class Candidates:
    """The peers that one home knows beyond its neighbours, and its choice among all of them."""

    def __init__(self, state: PeerState) -> None:
        self._state = state
        self._measurers: dict[PeerId, PeerDescriptor] = {}
        self._their_neighbours: dict[PeerId, tuple[PeerDescriptor, ...]] = {}
        self._unreachable_until_s: dict[PeerId, float] = {}

    def on_measured(self, measured: SiteMeasured) -> None:
        """A peer has measured a site for us."""
        self._measurers[measured.by.peer] = measured.by
        self._their_neighbours[measured.by.peer] = measured.neighbours

    def on_descriptor(self, descriptor: PeerDescriptor) -> None:
        """A newer descriptor of a peer that measures or crawls for us."""
        self._measurers[descriptor.peer] = descriptor

    def exclude(self, peer: PeerId, until_s: float) -> None:
        """Do not choose this peer until then, although its descriptor is still in circulation."""
        self._unreachable_until_s[peer] = until_s

    def forget(self, peer: PeerId) -> None:
        self._measurers.pop(peer, None)
        self._their_neighbours.pop(peer, None)

    def delegate_for(
        self, record: SiteRecord, rule: HandOverRule, without: PeerId | None, now_s: float
    ) -> PeerDescriptor:
        """The peer that should crawl the site now."""
        descriptors = self._around(record, without)
        descriptors = [
            descriptor
            for descriptor in descriptors
            if self._unreachable_until_s.get(descriptor.peer, now_s) <= now_s
        ]
        around, present = NearbyPeers.of(descriptors), _row_of(record.delegate, descriptors)
        prices = prices_ms(around, record.pages, present, rule)
        predicted = distances_ms(record.point, around.points)
        return descriptors[
            row_to_delegate(costs_ms(predicted, _measured(record, descriptors), prices), present, rule)
        ]

    def to_measure(self, record: SiteRecord, rule: HandOverRule) -> PeerDescriptor | None:
        """The peer whose round trip is most useful to know, while too few are known."""
        if len(record.measured) >= rule.measured_max:
            return None
        descriptors = self._around(record, None)
        prices = prices_ms(
            NearbyPeers.of(descriptors), record.pages, _row_of(record.delegate, descriptors), rule
        )
        row = row_to_measure(_lower_bounds(record, descriptors), _measured(record, descriptors), prices)
        return None if row == NO_PEER else descriptors[row]

    def _around(self, record: SiteRecord, without: PeerId | None) -> list[PeerDescriptor]:
        nearest = record.measured[0].peer if record.measured else None
        beyond = self._their_neighbours.get(nearest, ()) if nearest is not None else ()
        found = {descriptor.peer: descriptor for descriptor in beyond}
        for known in record.measured:
            stranger = PeerDescriptor(known.peer, known.point, (), address=known.address)
            found[known.peer] = self._measurers.get(known.peer, stranger)
        found |= self._state.table.two_hops(self._state.descriptor)
        if without is not None and without != self._state.id:
            found.pop(without, None)
        return [found[peer] for peer in sorted(found) if not self._state.table.is_dead(peer)]


def _row_of(peer: PeerId, descriptors: list[PeerDescriptor]) -> int:
    return next((row for row, descriptor in enumerate(descriptors) if descriptor.peer == peer), NO_PEER)


def _lower_bounds(record: SiteRecord, descriptors: list[PeerDescriptor]) -> LoadColumn:
    """Bounds from the landmarks among the peers that measured the site."""
    to_landmarks = [dict(descriptor.landmarks_ms) for descriptor in descriptors]
    landmarks = [m for m in record.measured if any(m.peer in known for known in to_landmarks)]
    table = [[known.get(m.peer, np.nan) for m in landmarks] for known in to_landmarks]
    from_landmarks = np.array([m.round_trip_ms for m in landmarks], dtype=np.float64)
    if not landmarks:
        return distances_ms(record.point, np.array([descriptor.point for descriptor in descriptors]))
    return lower_bounds_ms(np.array(table, dtype=np.float64), from_landmarks)


def _measured(record: SiteRecord, descriptors: list[PeerDescriptor]) -> LoadColumn:
    known = {measurement.peer: measurement.round_trip_ms for measurement in record.measured}
    return np.array([known.get(descriptor.peer, np.nan) for descriptor in descriptors], dtype=np.float64)
