"""Greetings in -> who borders me, and who ought to be introduced to whom.

A greeting carries a peer's card, its neighbours' cards and, when something changed or now and then
anyway, the records of the sites it is home to. From it follow: neighbours of neighbours that border me
and whom I do not know are greeted; two peers that claim one region are told of each other; copies that
the sender should have and does not list go back to it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.model.zones import left_of
from ipmicra.overlay.can.neighbour_table import borders
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.protocol.overlay_messages import (
    ConflictNotice,
    Outgoing,
    PeerDescriptor,
    StoreRecords,
    Update,
)


class Gossip:
    """Keeps neighbours acquainted."""

    def __init__(self, known: PeerState) -> None:
        self._known = known
        self._busiest: PeerDescriptor | None = None
        self._hellos = 0
        self._book_last_listed = -1

    @property
    def busiest(self) -> PeerDescriptor | None:
        """The most loaded peer heard of."""
        return self._busiest

    def hello(self) -> list[Outgoing]:
        """The regular greeting of all neighbours."""
        book = self._known.book
        due = self._hellos % self._known.rules.sites_every_hellos == 0
        self._hellos += 1
        listing = due or book.changes != self._book_last_listed
        self._book_last_listed = book.changes
        return self.to(self._known.table.cards(), with_sites=listing)

    def to(self, cards: Iterable[PeerDescriptor], with_sites: bool) -> list[Outgoing]:
        known = self._known
        sites = tuple(known.book.homed.values()) if with_sites else None
        update = Update(known.card, tuple(known.table.cards()), sites, self._busiest_known())
        return [Outgoing(card, update) for card in cards if card.peer != known.id]

    def acquainted(self, cards: Iterable[PeerDescriptor], now_s: float) -> list[Outgoing]:
        """Note those of them who border my zones, and greet all of them."""
        known = self._known
        others = [card for card in cards if card.peer != known.id]
        for card in others:
            known.table.note(card, known.zones, now_s, heard=False)
        greeted = {card.peer: card for card in (*others, *known.table.cards())}
        return self.to(greeted.values(), with_sites=True)

    def heard(self, update: Update, now_s: float) -> list[Outgoing]:
        """A greeting came in."""
        known = self._known
        neighbour = known.table.note(update.card, known.zones, now_s, heard=True)
        self._heard_of(update.busiest, update.card)
        out = self._rivalled(update.card)
        if neighbour is not None and neighbour.card.version == update.card.version:
            neighbour.neighbours = {card.peer: card for card in update.neighbours}
            out += self._compared(update, now_s)
        elif neighbour is None and any(card.peer == known.id for card in update.neighbours):
            out += self.to(
                [update.card], with_sites=False
            )  # it has an old card of me: I border it no more
        return out + self._introduced(update.neighbours, now_s)

    def _compared(self, update: Update, now_s: float) -> list[Outgoing]:
        """Keep copies of the sender's sites; give it those that it should have and does not list."""
        if update.sites is None:
            return []
        missing = self._known.copies.unknown_to(update.card.zones, update.sites)
        self._known.copies.refresh(update.sites, now_s)
        return [Outgoing(update.card, StoreRecords(missing))] if missing else []

    def _rivalled(self, card: PeerDescriptor) -> list[Outgoing]:
        """Neighbours whose zones another peer now claims: dead, or, if they live, its rivals."""
        known, out = self._known, []
        for neighbour in known.table:
            theirs = neighbour.card
            if theirs.peer == card.peer or not any(
                a.overlaps(b) for a in theirs.zones for b in card.zones
            ):
                continue
            out.append(Outgoing(theirs, ConflictNotice(card)))
            rest = tuple(left_of(theirs.zones, card.zones))
            if borders(rest, known.zones):
                neighbour.card = msgspec.structs.replace(theirs, zones=rest)
            else:
                known.table.forget(theirs.peer)
        return out

    def _introduced(self, cards: Iterable[PeerDescriptor], now_s: float) -> list[Outgoing]:
        """Greet those of a neighbour's neighbours who border me and whom I do not know.

        A card whose zones somebody I know holds is a dead peer's, still going round.
        """
        known, out = self._known, []
        for card in cards:
            if card.peer == known.id or card.peer in known.table or not borders(card.zones, known.zones):
                continue
            held = [zone for other in (known.card, *known.table.cards()) for zone in other.zones]
            if any(a.overlaps(b) for a in card.zones for b in held):
                continue
            if known.table.note(card, known.zones, now_s, heard=False) is not None:
                out += self.to([card], with_sites=True)
        return out

    def _heard_of(self, busiest: PeerDescriptor | None, sender: PeerDescriptor) -> None:
        if self._busiest is not None and self._busiest.peer == sender.peer:
            self._busiest = sender
        if busiest is not None and (self._busiest is None or busiest.load > self._busiest.load):
            self._busiest = busiest

    def _busiest_known(self) -> PeerDescriptor:
        candidates = [self._known.card, *self._known.table.cards()]
        candidates += [self._busiest] if self._busiest else []
        self._busiest = max(candidates, key=lambda card: (card.load, card.peer))
        return self._busiest
