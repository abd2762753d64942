"""Borders beyond which nobody is known -> a question who is there; after a while without an answer, mine.

A hole is claimed layer by layer from all sides; who claimed the same part settles it as any dispute. So
holes vanish whatever made them: neighbours that died together, or messages that were lost with them.
"""

from __future__ import annotations

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.assignment import SiteAssignments
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.open_faces import OpenFace, open_faces
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.routing import Routing
from ipmicra.protocol.overlay_messages import Locate, LocateReply, Outgoing, PeerDescriptor, Routed

WHO_IS_THERE = "who is beyond my border?"


class CoverageRepair:
    """Watches one peer's borders."""

    def __init__(
        self, known: PeerState, routing: Routing, greeting: Gossip, assignment: SiteAssignments
    ) -> None:
        self._known = known
        self._routing = routing
        self._greeting = greeting
        self._assignment = assignment
        self._open_since_s: dict[OpenFace, float] = {}
        self._looked_at: tuple[object, ...] = ()

    def looked(self, now_s: float) -> list[Outgoing]:
        """Ask who is beyond a border that has just opened; claim what has been open for too long."""
        self._look(now_s)
        out: list[Outgoing] = []
        for face, since_s in self._open_since_s.items():
            if since_s == now_s:
                letter = Locate(self._known.card, WHO_IS_THERE)
                out += self._routing.passed_on(Routed(face.beyond(), letter))
        patience_s = self._known.rules.open_face_after_s
        overdue = [face for face, since_s in self._open_since_s.items() if now_s - since_s > patience_s]
        return out + self._claimed(overdue, now_s) if overdue else out

    def _look(self, now_s: float) -> None:
        """Look at the borders again if anybody's zones, or mine, have changed."""
        known, cards = self._known, self._known.table.cards()
        seen = (known.zones, *(card.zones for card in cards))
        if seen == self._looked_at:
            return
        self._looked_at = seen
        others = [zone for card in cards for zone in card.zones]
        found = open_faces(known.zones, others, known.space)
        self._open_since_s = {face: self._open_since_s.get(face, now_s) for face in found}

    def answered(self, located: LocateReply, now_s: float) -> list[Outgoing]:
        """Somebody is there."""
        if located.question != WHO_IS_THERE:
            return []
        return self._greeting.acquainted([located.owner], now_s)

    def _claimed(self, faces: list[OpenFace], now_s: float) -> list[Outgoing]:
        known = self._known
        around = known.table.two_hops(known.card)
        vacant: list[ZoneBox] = []
        for face in faces:
            zones = [zone for card in around.values() for zone in card.zones] + vacant
            hole = face.hole(known.space, zones)
            vacant += [] if hole is None else [hole]
        if not vacant:
            return []
        known.add_zones(vacant)
        out = self._assignment.homed(known.copies.within(vacant), now_s)
        others: list[PeerDescriptor] = [card for card in around.values() if card.peer != known.id]
        return out + self._greeting.acquainted(others, now_s)
