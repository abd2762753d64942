"""Records of our sites -> a replica on a peer at the far end of the space, which restores them if we die.

Neighbours store replicas, but a power cut may take neighbours down together. So a home regularly sends its
records to the owner of a point half the space away. A replica whose home was not heard for a while submits
the sites again: a live home ignores this; where every peer that knew them died, the sites are restored.
"""

from __future__ import annotations

from collections.abc import Iterable

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.sites.assignment import SiteAssignments
from ipmicra.protocol.overlay_messages import Outgoing, ReplicateFar, Routed, SiteRecord

MISSED_MAX = 2.5  # intervals that a home may miss before its replica restores the sites


class RemoteReplicas:
    """Both sides of remote replication, for one peer."""

    def __init__(self, state: PeerState, assignment: SiteAssignments) -> None:
        self._state = state
        self._assignment = assignment
        self._stored: dict[str, tuple[SiteRecord, float]] = {}

    def sites(self) -> list[str]:
        return list(self._stored)

    def replications(self) -> list[Outgoing]:
        """The sites of each of our zones, addressed to that zone's replica."""
        state, out = self._state, []
        for zone in state.zones:
            records = tuple(r for r in state.site_table.home_records.values() if zone.holds(r.key))
            if records:
                far = opposite(state.space, zone.centre)
                out += [Outgoing(state.descriptor, Routed(far, ReplicateFar(records)))]
        return out

    def store(self, records: Iterable[SiteRecord], now_s: float) -> None:
        """Store the records of a remote home."""
        self._stored |= {record.site: (record, now_s) for record in records}

    def restore_overdue(self, now_s: float) -> list[Outgoing]:
        """Submit the records that were not repeated for too long."""
        late_s = now_s - MISSED_MAX * self._state.rules.replicate_every_s
        late = [record for record, stored_s in self._stored.values() if stored_s < late_s]
        for record in late:
            del self._stored[record.site]
        return [outgoing for record in late for outgoing in self._assignment.submit_home(record)]


def opposite(space: ZoneBox, point: SpacePoint) -> SpacePoint:
    """Half of each side away, wrapping around at the end: far from the point wherever it is."""
    moved = (
        low + (x - low + (high - low) / 2) % (high - low)
        for low, x, high in zip(space.low, point, space.high, strict=True)
    )
    return key_in(space, tuple(moved))
