"""A join request -> the newcomer's zone; a welcome -> my own.

The bootstrap peer writes the splitting scheme into the request (CAN-on-NC paper, IV.C); the owner of
the newcomer's point, or the most loaded peer that the scheme looks at, splits its zone.
"""

from __future__ import annotations

import msgspec

from ipmicra.model.zones import ZoneBox, key_in
from ipmicra.overlay.can.assignment import SiteAssignments
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.site_table import with_delegate
from ipmicra.overlay.can.splitting import Scheme, Switch, cut_for
from ipmicra.protocol.overlay_messages import (
    Join,
    Outgoing,
    PeerDescriptor,
    Routed,
    RoutedPayload,
    SiteRecord,
    Welcome,
)


class Admission:
    """Lets newcomers in, and gets in."""

    def __init__(self, known: PeerState, greeting: Gossip, assignment: SiteAssignments) -> None:
        self._known = known
        self._greeting = greeting
        self._assignment = assignment
        self._splits = 0
        self._joined_here = 1

    def asked_of(self, via: PeerDescriptor) -> list[Outgoing]:
        """My own request to be let in, by way of a peer that is in already."""
        return [Outgoing(via, Routed(self._known.key, Join(self._known.card, scheme="")))]

    def welcomed(self, welcome: Welcome, now_s: float) -> list[Outgoing]:
        """Take the zones; also those of a second answer, for nobody else has them any more."""
        self._known.add_zones(welcome.zones)
        self._splits = max(self._splits, welcome.splits)
        out = self._assignment.homed(welcome.sites, now_s)
        return out + self._greeting.acquainted(welcome.acquaintances, now_s)

    def stamped(self, letter: RoutedPayload) -> RoutedPayload:
        """A join request as the bootstrap peer passes it on."""
        if not isinstance(letter, Join) or letter.scheme:
            return letter
        rules = self._known.rules
        scheme = Switch.parse(rules.switch).scheme_for(self._joined_here, rules.peers_expected)
        self._joined_here += 1
        return msgspec.structs.replace(letter, scheme=scheme)

    def admitted(self, join: Join, routed: Routed, now_s: float) -> list[Outgoing]:
        if join.newcomer.peer == self._known.id:
            return []  # I have come in by another way meanwhile
        scheme = Scheme.parse(join.scheme)
        splitter = self._known.card if join.passed_on else self._splitter(scheme)
        if splitter.peer == self._known.id:
            return self._split_for(join.newcomer, scheme, now_s)
        letter = msgspec.structs.replace(join, passed_on=True)
        return [Outgoing(splitter, msgspec.structs.replace(routed, letter=letter))]

    def _splitter(self, scheme: Scheme) -> PeerDescriptor:
        """Whose zone is split: mine, or the most loaded one that the scheme looks at."""
        mine, candidates = self._known.card, [self._known.card]
        if scheme.name == "NH":
            candidates += self._known.table.cards()
        elif scheme.name == "GH" and self._greeting.busiest is not None:
            candidates += [self._greeting.busiest]
        return max(candidates, key=lambda card: (card.load, card.peer == mine.peer, card.peer))

    def _split_for(self, newcomer: PeerDescriptor, scheme: Scheme, now_s: float) -> list[Outgoing]:
        known, key = self._known, key_in(self._known.space, newcomer.point)
        zone = next((z for z in known.zones if z.holds(key)), max(known.zones, key=lambda z: z.volume))
        keys = [r.key for r in known.book.homed.values() if zone.holds(r.key)]
        cut = cut_for(scheme, zone, known.key, key, keys, self._splits)
        self._splits += 1
        before = known.table.cards()
        known.set_zones([*(z for z in known.zones if z != zone), cut.kept])
        newcomer = msgspec.structs.replace(newcomer, zones=(cut.given,))
        moving = self._moved_home(cut.given, newcomer, now_s)
        known.table.prune(known.zones)
        known.table.note(newcomer, known.zones, now_s, heard=True)
        welcome = Welcome((cut.given,), moving, (known.card, *before), self._splits)
        return [Outgoing(newcomer, welcome), *self._greeting.to(before, with_sites=False)]

    def _moved_home(self, zone: ZoneBox, to: PeerDescriptor, now_s: float) -> tuple[SiteRecord, ...]:
        """The sites in the zone. Where the home crawls them itself, a new home is a new delegate."""
        book = self._known.book
        moving = book.given_away([zone])
        if self._known.rules.hand_over is None:
            moving = tuple(with_delegate(record, to) for record in moving)
            for record in moving:
                book.lay_down(record.site, record.epoch)
        self._known.copies.refresh(moving, now_s)
        return moving
