"""Zones that change hands other than by a split: leaving, giving back, taking over, disputes.

Law: an offered zone stays with its giver until the taker's greeting shows it; so a region may for a
moment have two owners and never none. Two peers that claim one region settle it by name: the greater
name keeps it, the other hands over what it knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import dist
from typing import NamedTuple

import msgspec

from ipmicra.model.zones import ZoneBox, left_of
from ipmicra.overlay.can.admission import Admission
from ipmicra.overlay.can.assignment import SiteAssignments
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.neighbour_table import Neighbour
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.takeover import zones_to_claim
from ipmicra.protocol.overlay_messages import (
    HandOver,
    Outgoing,
    PeerDescriptor,
    PeerId,
    PeerLeft,
    SiteRecord,
    StoreRecords,
)


class Promise(NamedTuple):
    """Zones offered to, or accepted from, somebody who has yet to say so."""

    zones: tuple[ZoneBox, ...]
    given_s: float


class ZoneTransfer:
    """Conducts offers, inheritances and disputes of one peer."""

    def __init__(
        self, known: PeerState, greeting: Gossip, assignment: SiteAssignments, admission: Admission
    ) -> None:
        self._known = known
        self._greeting = greeting
        self._assignment = assignment
        self._admission = admission
        self._offers: dict[PeerId, Promise] = {}
        self._accepted: dict[PeerId, Promise] = {}

    # --- giving -------------------------------------------------------------------------------

    def left(self, now_s: float) -> list[Outgoing]:
        """Offer all my zones to the neighbour that can best use them; one that keeps silent is followed
        by another."""
        heir = self._heir(now_s)
        return [] if heir is None else self._offered(self._known.zones, heir, now_s)

    def _heir(self, now_s: float) -> PeerDescriptor | None:
        """A neighbour whose zone makes one box with mine; failing that, the one nearest to my zone."""
        known = self._known
        living = known.table.alive(now_s, 2 * known.rules.hello_every_s)
        cards = [n.card for n in living if n.card.peer not in self._offers and n.card.capacity > 0]
        fitting = [c for c in cards if any(a.joined(b) for a in c.zones for b in known.zones)]
        centre = known.zones[0].centre if known.zones else known.card.point
        return min(fitting or cards, key=lambda c: (dist(c.point, centre), c.peer), default=None)

    def gave_back(self, now_s: float) -> list[Outgoing]:
        """A zone that makes one box with a neighbour's goes to that neighbour, if I have more than one."""
        known = self._known
        self._offers = {peer: offer for peer, offer in self._offers.items() if self._holds(offer, now_s)}
        if len(known.zones) < 2 or self._offers:
            return []
        living = known.table.alive(now_s, 2 * known.rules.hello_every_s)
        for zone in sorted(known.zones, key=lambda z: z.volume):
            takers = [n.card for n in living if any(zone.joined(z) for z in n.card.zones)]
            takers = [card for card in takers if card.capacity > 0]
            if takers and not zone.holds(known.key):
                taker = min(takers, key=lambda card: (card.load, card.peer))
                return self._offered((zone,), taker, now_s)
        return []

    def _holds(self, promise: Promise, now_s: float) -> bool:
        """An offer that is not taken up in time is void, on either side."""
        return now_s - promise.given_s <= self._known.rules.silent_after_s

    def _offered(self, zones: tuple[ZoneBox, ...], to: PeerDescriptor, now_s: float) -> list[Outgoing]:
        """Offer zones and the sites in them. They stay mine until the taker's greeting shows them."""
        known = self._known
        self._offers[to.peer] = Promise(zones, now_s)
        sites = tuple(r for r in known.book.homed.values() if any(z.holds(r.key) for z in zones))
        others = (known.card, *(card for card in known.table.cards() if card.peer != to.peer))
        return [Outgoing(to, HandOver(known.id, zones, sites, others))]

    def taken_up(self, taker: PeerDescriptor, now_s: float) -> list[Outgoing]:
        """A greeting that may show that the taker has what I offered: let go of it then."""
        known, offer = self._known, self._offers.get(taker.peer)
        taken = [] if offer is None else _shared(offer.zones, taker.zones)
        if not taken:
            return []
        del self._offers[taker.peer]
        sites = self._let_go(taken, now_s)
        dropped = known.table.prune(known.zones)
        out = [Outgoing(taker, StoreRecords(sites))] if sites else []
        if known.leaving and not known.zones:
            told = {card.peer: card for card in (*dropped, taker)}
            return out + [Outgoing(card, PeerLeft(known.id, taker)) for card in told.values()]
        return out + self._greeting.to([*known.table.cards(), *dropped], with_sites=False)

    def _let_go(self, zones: list[ZoneBox], now_s: float) -> tuple[SiteRecord, ...]:
        """Zones and sites are mine no longer; I crawl them on only as somebody's delegate."""
        known = self._known
        sites = known.book.given_away(zones)
        known.set_zones(left_of(known.zones, zones))
        known.copies.refresh(sites, now_s)
        for record in sites:
            if known.rules.hand_over is None or known.leaving:
                known.book.lay_down(record.site, record.epoch + 1)
        return sites

    # --- taking -------------------------------------------------------------------------------

    def inherited(self, hand_over: HandOver, now_s: float) -> list[Outgoing]:
        """Take offered zones and sites. My greeting tells the giver, who lets go of them then."""
        known = self._known
        if hand_over.zones and known.leaving:
            return []
        departed = None
        if hand_over.zones:
            known.add_zones(hand_over.zones)
            self._accepted[hand_over.leaver] = Promise(hand_over.zones, now_s)
            departed = hand_over.leaver
        out = self._assignment.homed(hand_over.sites, now_s, departed)
        return out + self._greeting.acquainted(hand_over.acquaintances, now_s)

    def mourned(self, dead: Neighbour, now_s: float) -> list[Outgoing]:
        """Claim what the dead left, when it is my turn."""
        known, rules = self._known, self._known.rules
        turn = int((now_s - dead.dead_since_s(rules)) / rules.claim_step_s)
        also_dead = {neighbour.card.peer for neighbour in known.table.dead(now_s, rules)}
        claim = zones_to_claim(known.card, dead, also_dead, turn)
        if not claim.zones:
            return []
        if claim.rest:
            dead.card = msgspec.structs.replace(dead.card, zones=claim.rest)
        else:
            known.table.bury(dead.card.peer)
        living = known.table.alive(now_s, rules.silent_after_s)
        vacant = left_of(claim.zones, [zone for n in living for zone in n.card.zones])
        known.add_zones(vacant)
        out = self._assignment.homed(known.copies.within(vacant), now_s, departed=dead.card.peer)
        survivors = [c for c in dead.neighbours.values() if c.peer != dead.card.peer]
        return out + self._greeting.acquainted(survivors, now_s)

    # --- disputes -----------------------------------------------------------------------------

    def challenged(self, theirs: PeerDescriptor) -> list[Outgoing]:
        """Somebody says that another claims what is mine: ask it, for a card from others may be old."""
        overlapping = any(a.overlaps(b) for a in theirs.zones for b in self._known.zones)
        return self._greeting.to([theirs], with_sites=False) if overlapping else []

    def settled(self, theirs: PeerDescriptor, now_s: float) -> list[Outgoing]:
        """Two claims on one region, unless they hold it by an offer that is not yet let go of."""
        known = self._known
        disputed = [z for z in theirs.zones if any(z.overlaps(mine) for mine in known.zones)]
        if not disputed or theirs.peer == known.id:
            self._accepted.pop(theirs.peer, None)
            return []
        accepted = self._accepted_from(theirs.peer, now_s)
        if known.id > theirs.peer or not left_of(_shared(disputed, known.zones), accepted):
            return self._greeting.to([theirs], with_sites=False)
        sites = self._let_go(disputed, now_s)
        dropped = known.table.prune(known.zones)
        acquaintances = (known.card, *known.table.cards(), *dropped)
        out = [Outgoing(theirs, HandOver(known.id, (), sites, acquaintances))]
        out += self._greeting.to([theirs, *known.table.cards(), *dropped], with_sites=False)
        return out if known.zones else out + self._admission.asked_of(theirs)

    def _accepted_from(self, giver: PeerId, now_s: float) -> tuple[ZoneBox, ...]:
        accepted = self._accepted.get(giver)
        return accepted.zones if accepted is not None and self._holds(accepted, now_s) else ()


def _shared(first: Iterable[ZoneBox], second: Iterable[ZoneBox]) -> list[ZoneBox]:
    """The regions that lie in both."""
    zones = list(first)
    return left_of(zones, left_of(zones, second))
