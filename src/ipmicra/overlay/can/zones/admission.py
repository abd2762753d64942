"""Join request -> a zone for the newcomer; welcome message -> zones of our own.

The bootstrap peer writes the splitting scheme into the request (CAN-on-NC paper, IV.C). The owner of
the newcomer's point, or the most loaded peer that the scheme considers, splits its zone.
"""

from __future__ import annotations

import msgspec

from ipmicra.model.zones import ZoneBox, key_in
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.sites.assignment import SiteAssignments
from ipmicra.overlay.can.sites.site_table import with_delegate
from ipmicra.overlay.can.zones.splitting import Scheme, Switch, cut_for
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
    """Admits newcomers, and joins the network itself."""

    def __init__(self, state: PeerState, gossip: Gossip, assignment: SiteAssignments) -> None:
        self._state = state
        self._gossip = gossip
        self._assignment = assignment
        self._splits = 0
        self._joined_here = 1

    def join_request(self, via: PeerDescriptor) -> list[Outgoing]:
        """Our own request to join, sent to a peer that is already a member."""
        return [Outgoing(via, Routed(self._state.key, Join(self._state.descriptor, scheme="")))]

    def on_welcome(self, welcome: Welcome, now_s: float) -> list[Outgoing]:
        """Take the zones, also those of a second welcome: the sender has given them up already."""
        self._state.add_zones(welcome.zones)
        self._splits = max(self._splits, welcome.splits)
        self._state.registrations.refresh(welcome.registered, now_s)
        out = self._assignment.adopt_sites(welcome.sites, now_s)
        return out + self._gossip.learn_contacts(welcome.acquaintances, now_s)

    def stamp_scheme(self, payload: RoutedPayload) -> RoutedPayload:
        """Write the splitting scheme into a join request that has none. Counts the newcomer."""
        if not isinstance(payload, Join) or payload.scheme:
            return payload
        rules = self._state.rules
        scheme = Switch.parse(rules.switch).scheme_for(self._joined_here, rules.peers_expected)
        self._joined_here += 1
        return msgspec.structs.replace(payload, scheme=scheme)

    def on_join(self, join: Join, routed: Routed, now_s: float) -> list[Outgoing]:
        if join.newcomer.peer == self._state.id:
            return []  # joined by another way already
        scheme = Scheme.parse(join.scheme)
        splitter = self._state.descriptor if join.passed_on else self._splitter(scheme)
        if splitter.peer == self._state.id:
            return self._split_for(join.newcomer, scheme, now_s)
        payload = msgspec.structs.replace(join, passed_on=True)
        return [Outgoing(splitter, msgspec.structs.replace(routed, payload=payload))]

    def _splitter(self, scheme: Scheme) -> PeerDescriptor:
        """The peer whose zone is split: ourselves, or the most loaded one that the scheme considers."""
        mine, candidates = self._state.descriptor, [self._state.descriptor]
        if scheme.name == "NH":
            candidates += self._state.table.descriptors()
        elif scheme.name == "GH" and self._gossip.busiest is not None:
            candidates += [self._gossip.busiest]
        return max(
            candidates,
            key=lambda descriptor: (descriptor.load, descriptor.peer == mine.peer, descriptor.peer),
        )

    def _split_for(self, newcomer: PeerDescriptor, scheme: Scheme, now_s: float) -> list[Outgoing]:
        state, key = self._state, key_in(self._state.space, newcomer.point)
        zone = next((z for z in state.zones if z.holds(key)), max(state.zones, key=lambda z: z.volume))
        keys = [r.key for r in state.site_table.home_records.values() if zone.holds(r.key)]
        cut = cut_for(scheme, zone, state.key, key, keys, self._splits)
        self._splits += 1
        before = state.table.descriptors()
        state.set_zones([*(z for z in state.zones if z != zone), cut.kept])
        newcomer = msgspec.structs.replace(newcomer, zones=(cut.given,))
        moving = self._give_away_sites(cut.given, newcomer, now_s)
        state.table.prune(state.zones)
        state.table.learn(newcomer, state.zones, now_s, direct=True)
        names = state.registrations.listed()
        welcome = Welcome((cut.given,), moving, (state.descriptor, *before), self._splits, names)
        return [Outgoing(newcomer, welcome), *self._gossip.updates_for(before, with_sites=False)]

    def _give_away_sites(
        self, zone: ZoneBox, to: PeerDescriptor, now_s: float
    ) -> tuple[SiteRecord, ...]:
        """The sites in the zone. If homes crawl their sites themselves, the new home is the delegate."""
        site_table = self._state.site_table
        moving = site_table.give_away([zone])
        if self._state.rules.hand_over is None:
            moving = tuple(with_delegate(record, to) for record in moving)
            for record in moving:
                site_table.stop_crawling(record.site, record.epoch)
        self._state.replicas.refresh(moving, now_s)
        return moving
