"""Zones that change owners other than by a split: leaving, returning fragments, taking over, conflicts.

Invariant: an offered zone stays with its giver until the receiver's update shows it; so a region may briefly
have two owners, but never none. Two peers that claim one region resolve it by name: the greater name keeps
it, the other sends its records.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import dist
from typing import NamedTuple

import msgspec

from ipmicra.model.ids import DelegateEpoch
from ipmicra.model.zones import ZoneBox, left_of
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.neighbour_table import Neighbour
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.sites.assignment import SiteAssignments
from ipmicra.overlay.can.zones.admission import Admission
from ipmicra.overlay.can.zones.takeover import zones_to_claim
from ipmicra.protocol.overlay_messages import (
    HandOver,
    Outgoing,
    PeerDescriptor,
    PeerId,
    PeerLeft,
    SiteRecord,
    StoreRecords,
)


class PendingTransfer(NamedTuple):
    """Zones offered to, or accepted from, a peer that has not confirmed yet."""

    zones: tuple[ZoneBox, ...]
    given_s: float


class ZoneTransfer:
    """Offers, takes over and disputes the zones of one peer."""

    def __init__(
        self, state: PeerState, gossip: Gossip, assignment: SiteAssignments, admission: Admission
    ) -> None:
        self._state = state
        self._gossip = gossip
        self._assignment = assignment
        self._admission = admission
        self._offers: dict[PeerId, PendingTransfer] = {}
        self._accepted: dict[PeerId, PendingTransfer] = {}

    # --- giving -------------------------------------------------------------------------------

    def offer_all(self, now_s: float) -> list[Outgoing]:
        """Offer all our zones to the most suitable neighbour; if it does not answer, to the next one."""
        successor = self._successor(now_s)
        return [] if successor is None else self._offer(self._state.zones, successor, now_s)

    def _successor(self, now_s: float) -> PeerDescriptor | None:
        """A neighbour whose zone forms one box with ours; otherwise the one nearest to our zone."""
        state = self._state
        living = state.table.alive(now_s, 2 * state.rules.gossip_every_s)
        descriptors = [
            n.descriptor
            for n in living
            if n.descriptor.peer not in self._offers and n.descriptor.capacity > 0
        ]
        fitting = [c for c in descriptors if any(a.joined(b) for a in c.zones for b in state.zones)]
        centre = state.zones[0].centre if state.zones else state.descriptor.point
        return min(fitting or descriptors, key=lambda c: (dist(c.point, centre), c.peer), default=None)

    def offer_fragment(self, now_s: float) -> list[Outgoing]:
        """Offer a zone that forms one box with a neighbour's to that neighbour, if we have more than one."""
        state = self._state
        self._offers = {
            peer: offer for peer, offer in self._offers.items() if self._is_valid(offer, now_s)
        }
        if len(state.zones) < 2 or self._offers:
            return []
        living = state.table.alive(now_s, 2 * state.rules.gossip_every_s)
        for zone in sorted(state.zones, key=lambda z: z.volume):
            takers = [n.descriptor for n in living if any(zone.joined(z) for z in n.descriptor.zones)]
            takers = [descriptor for descriptor in takers if descriptor.capacity > 0]
            if takers and not zone.holds(state.key):
                taker = min(takers, key=lambda descriptor: (descriptor.load, descriptor.peer))
                return self._offer((zone,), taker, now_s)
        return []

    def _is_valid(self, transfer: PendingTransfer, now_s: float) -> bool:
        """An offer that is not taken in time expires on both sides."""
        return now_s - transfer.given_s <= self._state.rules.dead_after_s

    def _offer(self, zones: tuple[ZoneBox, ...], to: PeerDescriptor, now_s: float) -> list[Outgoing]:
        """Offer zones and the sites in them. They stay ours until the receiver's update shows them."""
        state = self._state
        self._offers[to.peer] = PendingTransfer(zones, now_s)
        sites = tuple(
            r for r in state.site_table.home_records.values() if any(z.holds(r.key) for z in zones)
        )
        others = (
            state.descriptor,
            *(descriptor for descriptor in state.table.descriptors() if descriptor.peer != to.peer),
        )
        return [Outgoing(to, HandOver(state.id, zones, sites, others))]

    def on_offer_taken(self, taker: PeerDescriptor, now_s: float) -> list[Outgoing]:
        """An update from a peer that may have taken our offer: give up the zones that it owns now."""
        state, offer = self._state, self._offers.get(taker.peer)
        taken = [] if offer is None else _intersection(offer.zones, taker.zones)
        if not taken:
            return []
        del self._offers[taker.peer]
        sites = self._release(taken, now_s)
        dropped = state.table.prune(state.zones)
        out = [Outgoing(taker, StoreRecords(sites))] if sites else []
        if state.leaving and not state.zones:
            notified = {descriptor.peer: descriptor for descriptor in (*dropped, taker)}
            return out + [Outgoing(one, PeerLeft(state.id, taker)) for one in notified.values()]
        return out + self._gossip.updates_for([*state.table.descriptors(), *dropped], with_sites=False)

    def _release(self, zones: list[ZoneBox], now_s: float) -> tuple[SiteRecord, ...]:
        """Give up zones and their sites; we crawl them on only as a delegate."""
        state = self._state
        sites = state.site_table.give_away(zones)
        state.set_zones(left_of(state.zones, zones))
        state.replicas.refresh(sites, now_s)
        for record in sites:
            if state.rules.hand_over is None or state.leaving:
                state.site_table.stop_crawling(record.site, DelegateEpoch(record.epoch + 1))
        return sites

    # --- taking -------------------------------------------------------------------------------

    def on_hand_over(self, hand_over: HandOver, now_s: float) -> list[Outgoing]:
        """Take offered zones and sites. Our update informs the giver, which gives them up then."""
        state = self._state
        if hand_over.zones and state.leaving:
            return []
        departed = None
        if hand_over.zones:
            state.add_zones(hand_over.zones)
            self._accepted[hand_over.leaver] = PendingTransfer(hand_over.zones, now_s)
            departed = hand_over.leaver
        out = self._assignment.adopt_sites(hand_over.sites, now_s, departed)
        return out + self._gossip.learn_contacts(hand_over.acquaintances, now_s)

    def claim_dead(self, dead: Neighbour, now_s: float) -> list[Outgoing]:
        """Claim zones of a dead neighbour when it is our turn."""
        state, rules = self._state, self._state.rules
        turn = int((now_s - dead.dead_since_s(rules)) / rules.claim_step_s)
        also_dead = {neighbour.descriptor.peer for neighbour in state.table.dead(now_s, rules)}
        claim = zones_to_claim(state.descriptor, dead, also_dead, turn)
        if not claim.zones:
            return []
        if claim.rest:
            dead.descriptor = msgspec.structs.replace(dead.descriptor, zones=claim.rest)
        else:
            state.table.remove_dead(dead.descriptor.peer)
        living = state.table.alive(now_s, rules.dead_after_s)
        vacant = left_of(claim.zones, [zone for n in living for zone in n.descriptor.zones])
        state.add_zones(vacant)
        replicas = state.replicas.within(vacant)
        out = self._assignment.adopt_sites(replicas, now_s, departed=dead.descriptor.peer)
        survivors = [c for c in dead.neighbours.values() if c.peer != dead.descriptor.peer]
        return out + self._gossip.learn_contacts(survivors, now_s)

    # --- conflicts ----------------------------------------------------------------------------

    def on_rival(self, theirs: PeerDescriptor) -> list[Outgoing]:
        """A third peer reports that another one claims our zones: ask it, the report may be out of date."""
        overlapping = any(a.overlaps(b) for a in theirs.zones for b in self._state.zones)
        return self._gossip.updates_for([theirs], with_sites=False) if overlapping else []

    def resolve_conflict(self, theirs: PeerDescriptor, now_s: float) -> list[Outgoing]:
        """Resolve two claims on one region, unless the other peer's offer to us is still open."""
        state = self._state
        disputed = [z for z in theirs.zones if any(z.overlaps(mine) for mine in state.zones)]
        if not disputed or theirs.peer == state.id:
            self._accepted.pop(theirs.peer, None)
            return []
        accepted = self._accepted_from(theirs.peer, now_s)
        if state.id > theirs.peer or not left_of(_intersection(disputed, state.zones), accepted):
            return self._gossip.updates_for([theirs], with_sites=False)
        sites = self._release(disputed, now_s)
        dropped = state.table.prune(state.zones)
        acquaintances = (state.descriptor, *state.table.descriptors(), *dropped)
        out = [Outgoing(theirs, HandOver(state.id, (), sites, acquaintances))]
        out += self._gossip.updates_for([theirs, *state.table.descriptors(), *dropped], with_sites=False)
        return out if state.zones else out + self._admission.join_request(theirs)

    def _accepted_from(self, giver: PeerId, now_s: float) -> tuple[ZoneBox, ...]:
        accepted = self._accepted.get(giver)
        return accepted.zones if accepted is not None and self._is_valid(accepted, now_s) else ()


def _intersection(first: Iterable[ZoneBox], second: Iterable[ZoneBox]) -> list[ZoneBox]:
    """The regions that lie in both."""
    zones = list(first)
    return left_of(zones, left_of(zones, second))
