"""Records of my sites -> a witness at the far end of the space, who sends them home if I fall silent.

Neighbours keep copies, but a power cut takes neighbours together. So a home tells its sites, now and
then, to the owner of a place half the space away. A witness to whom a home was not repeated for a while
submits its sites anew: to a home that lives this says nothing new; where all who knew them died, they
are back.
"""

from __future__ import annotations

from collections.abc import Iterable

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.can.assignment import SiteAssignments
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.protocol.overlay_messages import Outgoing, ReplicateFar, Routed, SiteRecord

MISSED_MAX = 2.5  # times that a home may be late before its witness speaks


class RemoteReplicas:
    """Both sides of it, of one peer."""

    def __init__(self, known: PeerState, assignment: SiteAssignments) -> None:
        self._known = known
        self._assignment = assignment
        self._heard: dict[str, tuple[SiteRecord, float]] = {}

    def sites(self) -> list[str]:
        return list(self._heard)

    def told(self) -> list[Outgoing]:
        """The sites of each of my zones, to that zone's witness."""
        known, out = self._known, []
        for zone in known.zones:
            records = tuple(r for r in known.book.homed.values() if zone.holds(r.key))
            if records:
                far = opposite(known.space, zone.centre)
                out += [Outgoing(known.card, Routed(far, ReplicateFar(records)))]
        return out

    def heard(self, records: Iterable[SiteRecord], now_s: float) -> None:
        self._heard |= {record.site: (record, now_s) for record in records}

    def spoken(self, now_s: float) -> list[Outgoing]:
        """What has not been repeated for too long goes home again."""
        late_s = now_s - MISSED_MAX * self._known.rules.testify_every_s
        late = [record for record, heard_s in self._heard.values() if heard_s < late_s]
        for record in late:
            del self._heard[record.site]
        return [letter for record in late for letter in self._assignment.taken_in(record)]


def opposite(space: ZoneBox, point: SpacePoint) -> SpacePoint:
    """Half of each side away, going round at the end: far from the point wherever it lies."""
    moved = (
        low + (x - low + (high - low) / 2) % (high - low)
        for low, x, high in zip(space.low, point, space.high, strict=True)
    )
    return key_in(space, tuple(moved))
