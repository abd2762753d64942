"""What a home has heard of peers -> the peers that it can choose from for one site.

These are the peers within two hops, those that measured the site, and the neighbours of the one of them
that is nearest to it: so the search leaves the home's neighbourhood where coordinates misled it.
"""

from __future__ import annotations

import numpy as np

from ipmicra.overlay.can.nearness import (
    NOBODY,
    Around,
    HandOverRule,
    LoadColumn,
    costs_ms,
    distances_ms,
    prices_ms,
    promises_ms,
    row_to_delegate,
    row_to_measure,
)
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteMeasured, SiteRecord


class Candidates:
    """The peers that one home knows of beyond its neighbours, and its choices among all of them."""

    def __init__(self, known: PeerState) -> None:
        self._known = known
        self._measurers: dict[PeerId, PeerDescriptor] = {}
        self._their_neighbours: dict[PeerId, tuple[PeerDescriptor, ...]] = {}
        self._unreachable_until_s: dict[PeerId, float] = {}

    def met(self, measured: SiteMeasured) -> None:
        self._measurers[measured.by.peer] = measured.by
        self._their_neighbours[measured.by.peer] = measured.neighbours

    def seen(self, card: PeerDescriptor) -> None:
        """A newer card of a peer that measures or crawls for me."""
        self._measurers[card.peer] = card

    def unreachable(self, peer: PeerId, until_s: float) -> None:
        """No candidate for a while, though its card still goes round."""
        self._unreachable_until_s[peer] = until_s

    def lost(self, peer: PeerId) -> None:
        self._measurers.pop(peer, None)
        self._their_neighbours.pop(peer, None)

    def delegate_for(
        self, record: SiteRecord, rule: HandOverRule, without: PeerId | None, now_s: float
    ) -> PeerDescriptor:
        """Who should crawl the site now."""
        cards = self._around(record, without)
        cards = [card for card in cards if self._unreachable_until_s.get(card.peer, now_s) <= now_s]
        around, present = Around.of(cards), _row_of(record.delegate, cards)
        prices = prices_ms(around, record.pages, present, rule)
        predicted = distances_ms(record.point, around.points)
        return cards[
            row_to_delegate(costs_ms(predicted, _measured(record, cards), prices), present, rule)
        ]

    def to_measure(self, record: SiteRecord, rule: HandOverRule) -> PeerDescriptor | None:
        """Whose round trip is most worth knowing, while too few are known."""
        if len(record.measured) >= rule.measured_max:
            return None
        cards = self._around(record, None)
        prices = prices_ms(Around.of(cards), record.pages, _row_of(record.delegate, cards), rule)
        row = row_to_measure(_promises(record, cards), _measured(record, cards), prices)
        return None if row == NOBODY else cards[row]

    def _around(self, record: SiteRecord, without: PeerId | None) -> list[PeerDescriptor]:
        nearest = record.measured[0].peer if record.measured else None
        beyond = self._their_neighbours.get(nearest, ()) if nearest is not None else ()
        found = {card.peer: card for card in beyond}
        for known in record.measured:
            stranger = PeerDescriptor(known.peer, known.point, (), address=known.address)
            found[known.peer] = self._measurers.get(known.peer, stranger)
        found |= self._known.table.two_hops(self._known.card)
        if without is not None and without != self._known.id:
            found.pop(without, None)
        return [found[peer] for peer in sorted(found) if not self._known.table.mourns(peer)]


def _row_of(peer: PeerId, cards: list[PeerDescriptor]) -> int:
    return next((row for row, card in enumerate(cards) if card.peer == peer), NOBODY)


def _promises(record: SiteRecord, cards: list[PeerDescriptor]) -> LoadColumn:
    """By the landmarks that measured the site, who are among those that measured it."""
    to_landmarks = [dict(card.landmarks_ms) for card in cards]
    landmarks = [m for m in record.measured if any(m.peer in known for known in to_landmarks)]
    table = [[known.get(m.peer, np.nan) for m in landmarks] for known in to_landmarks]
    from_landmarks = np.array([m.round_trip_ms for m in landmarks], dtype=np.float64)
    if not landmarks:
        return distances_ms(record.point, np.array([card.point for card in cards]))
    return promises_ms(np.array(table, dtype=np.float64), from_landmarks)


def _measured(record: SiteRecord, cards: list[PeerDescriptor]) -> LoadColumn:
    known = {measurement.peer: measurement.round_trip_ms for measurement in record.measured}
    return np.array([known.get(card.peer, np.nan) for card in cards], dtype=np.float64)
