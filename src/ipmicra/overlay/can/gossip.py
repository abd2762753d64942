"""Gossip updates in -> known neighbours, and peers that should learn of each other.

An update carries a peer's descriptor, its neighbours' descriptors and, after a change or every few rounds,
the records of the sites it is home to. The receiver contacts unknown neighbours of neighbours that border
its zones, tells two peers that claim one region about each other, and returns replicas that the sender
should have and does not list.
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
    """Keeps neighbours informed."""

    def __init__(self, state: PeerState) -> None:
        self._state = state
        self._busiest: PeerDescriptor | None = None
        self._rounds = 0
        self._changes_last_listed = (-1, -1)

    @property
    def busiest(self) -> PeerDescriptor | None:
        """The most loaded peer known."""
        return self._busiest

    def announce(self) -> list[Outgoing]:
        """The regular update to all neighbours."""
        changes = (self._state.site_table.changes, self._state.registrations.changes)
        due = self._rounds % self._state.rules.full_list_every == 0
        self._rounds += 1
        listing = due or changes != self._changes_last_listed
        self._changes_last_listed = changes
        return self.updates_for(self._state.table.descriptors(), with_sites=listing)

    def updates_for(self, descriptors: Iterable[PeerDescriptor], with_sites: bool) -> list[Outgoing]:
        state = self._state
        sites = tuple(state.site_table.home_records.values()) if with_sites else None
        names = state.registrations.listed() if with_sites else ()
        update = Update(
            state.descriptor, tuple(state.table.descriptors()), sites, self._update_busiest(), names
        )
        return [
            Outgoing(descriptor, update) for descriptor in descriptors if descriptor.peer != state.id
        ]

    def learn_contacts(self, descriptors: Iterable[PeerDescriptor], now_s: float) -> list[Outgoing]:
        """Store the peers that border our zones, and send an update to all of them."""
        state = self._state
        others = [descriptor for descriptor in descriptors if descriptor.peer != state.id]
        for descriptor in others:
            state.table.learn(descriptor, state.zones, now_s, direct=False)
        contacts = {d.peer: d for d in (*others, *state.table.descriptors())}
        return self.updates_for(contacts.values(), with_sites=True)

    def on_update(self, update: Update, now_s: float) -> list[Outgoing]:
        """Process a neighbour's update."""
        state = self._state
        neighbour = state.table.learn(update.descriptor, state.zones, now_s, direct=True)
        self._learn_busiest(update.busiest, update.descriptor)
        out = self._report_conflicts(update.descriptor)
        if neighbour is not None and neighbour.descriptor.version == update.descriptor.version:
            neighbour.neighbours = {descriptor.peer: descriptor for descriptor in update.neighbours}
            out += self._sync_replicas(update, now_s)
        elif neighbour is None and any(descriptor.peer == state.id for descriptor in update.neighbours):
            # it has an old descriptor of ours: we do not border it any more
            out += self.updates_for([update.descriptor], with_sites=False)
        return out + self._contact_unknown(update.neighbours, now_s)

    def _sync_replicas(self, update: Update, now_s: float) -> list[Outgoing]:
        """Store replicas of the sender's sites; return those that it should have and does not list."""
        if update.sites is None:
            return []
        missing = self._state.replicas.missing_from(update.descriptor.zones, update.sites)
        self._state.replicas.refresh(update.sites, now_s)
        self._state.registrations.refresh(update.registered, now_s)
        return [Outgoing(update.descriptor, StoreRecords(missing))] if missing else []

    def _report_conflicts(self, descriptor: PeerDescriptor) -> list[Outgoing]:
        """Neighbours whose zones another peer now claims: they are dead, or in conflict with it."""
        state, out = self._state, []
        for neighbour in state.table:
            theirs = neighbour.descriptor
            if theirs.peer == descriptor.peer or not any(
                a.overlaps(b) for a in theirs.zones for b in descriptor.zones
            ):
                continue
            out.append(Outgoing(theirs, ConflictNotice(descriptor)))
            rest = tuple(left_of(theirs.zones, descriptor.zones))
            if borders(rest, state.zones):
                neighbour.descriptor = msgspec.structs.replace(theirs, zones=rest)
            else:
                state.table.forget(theirs.peer)
        return out

    def _contact_unknown(self, descriptors: Iterable[PeerDescriptor], now_s: float) -> list[Outgoing]:
        """Contact those of a neighbour's neighbours that border our zones and are unknown to us.

        A descriptor whose zones are owned by a known peer belongs to a dead peer and is out of date.
        """
        state, out = self._state, []
        for descriptor in descriptors:
            if (
                descriptor.peer == state.id
                or descriptor.peer in state.table
                or not borders(descriptor.zones, state.zones)
            ):
                continue
            held = [
                zone for other in (state.descriptor, *state.table.descriptors()) for zone in other.zones
            ]
            if any(a.overlaps(b) for a in descriptor.zones for b in held):
                continue
            if state.table.learn(descriptor, state.zones, now_s, direct=False) is not None:
                out += self.updates_for([descriptor], with_sites=True)
        return out

    def _learn_busiest(self, busiest: PeerDescriptor | None, sender: PeerDescriptor) -> None:
        if self._busiest is not None and self._busiest.peer == sender.peer:
            self._busiest = sender
        if busiest is not None and (self._busiest is None or busiest.load > self._busiest.load):
            self._busiest = busiest

    def _update_busiest(self) -> PeerDescriptor:
        candidates = [self._state.descriptor, *self._state.table.descriptors()]
        candidates += [self._busiest] if self._busiest else []
        self._busiest = max(candidates, key=lambda descriptor: (descriptor.load, descriptor.peer))
        return self._busiest
