"""Zone faces without a known neighbour -> a Locate request; after a timeout the region becomes ours.

A gap is claimed layer by layer from all sides; two peers that claim the same part resolve it like any
conflict. So gaps close for any cause: neighbours that died together, or lost messages.
"""

from __future__ import annotations

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.gossip import Gossip
from ipmicra.overlay.can.peer_state import PeerState
from ipmicra.overlay.can.routing import Routing
from ipmicra.overlay.can.sites.assignment import SiteAssignments
from ipmicra.overlay.can.zones.open_faces import OpenFace, open_faces
from ipmicra.protocol.overlay_messages import Locate, LocateReply, Outgoing, PeerDescriptor, Routed

COVERAGE_QUESTION = "who is beyond my border?"


class CoverageRepair:
    """Watches the faces of one peer's zones."""

    def __init__(
        self, state: PeerState, routing: Routing, gossip: Gossip, assignment: SiteAssignments
    ) -> None:
        self._state = state
        self._routing = routing
        self._gossip = gossip
        self._assignment = assignment
        self._open_since_s: dict[OpenFace, float] = {}
        self._zones_checked: tuple[object, ...] = ()

    def check(self, now_s: float) -> list[Outgoing]:
        """Send a request through each face that has just opened; claim gaps that stayed open too long."""
        self._refresh_open_faces(now_s)
        out: list[Outgoing] = []
        for face, since_s in self._open_since_s.items():
            if since_s == now_s:
                payload = Locate(self._state.descriptor, COVERAGE_QUESTION)
                out += self._routing.forward(Routed(face.point_beyond(), payload))
        patience_s = self._state.rules.open_face_after_s
        overdue = [face for face, since_s in self._open_since_s.items() if now_s - since_s > patience_s]
        return out + self._claim(overdue, now_s) if overdue else out

    def _refresh_open_faces(self, now_s: float) -> None:
        """Find open faces again if our zones or a neighbour's have changed."""
        state, descriptors = self._state, self._state.table.descriptors()
        seen = (state.zones, *(descriptor.zones for descriptor in descriptors))
        if seen == self._zones_checked:
            return
        self._zones_checked = seen
        others = [zone for descriptor in descriptors for zone in descriptor.zones]
        found = open_faces(state.zones, others, state.space)
        self._open_since_s = {face: self._open_since_s.get(face, now_s) for face in found}

    def on_located(self, located: LocateReply, now_s: float) -> list[Outgoing]:
        """A peer beyond one of our faces has answered."""
        if located.question != COVERAGE_QUESTION:
            return []
        return self._gossip.learn_contacts([located.owner], now_s)

    def _claim(self, faces: list[OpenFace], now_s: float) -> list[Outgoing]:
        state = self._state
        around = state.table.two_hops(state.descriptor)
        vacant: list[ZoneBox] = []
        for face in faces:
            zones = [zone for descriptor in around.values() for zone in descriptor.zones] + vacant
            gap = face.gap(state.space, zones)
            vacant += [] if gap is None else [gap]
        if not vacant:
            return []
        state.add_zones(vacant)
        out = self._assignment.adopt_sites(state.replicas.within(vacant), now_s)
        others: list[PeerDescriptor] = [
            descriptor for descriptor in around.values() if descriptor.peer != state.id
        ]
        return out + self._gossip.learn_contacts(others, now_s)
