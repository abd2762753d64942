"""The state of one peer: its own descriptor, its neighbours, its sites, and replicas of others' records.

Invariant: state only. The classes that share it decide; all of them change the peer's descriptor through
this class, so that its version rises with every change.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in, left_of, merged
from ipmicra.overlay.can.neighbour_table import NeighbourTable
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.neighbour_replicas import NeighbourReplicas
from ipmicra.overlay.can.sites.registrations import Registrations
from ipmicra.overlay.can.sites.site_table import SiteTable
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId


class PeerState:
    """State that the parts of one peer share."""

    def __init__(self, descriptor: PeerDescriptor, space: ZoneBox, rules: PeerRules) -> None:
        self.space = space
        self.rules = rules
        self.table = NeighbourTable()
        self.site_table = SiteTable()
        self.replicas = NeighbourReplicas()
        self.registrations = Registrations()
        self.leaving = False
        self._card = descriptor

    @property
    def descriptor(self) -> PeerDescriptor:
        """Our descriptor with the present load."""
        if self._card.load != self.site_table.load:
            self._change(load=self.site_table.load)
        return self._card

    @property
    def id(self) -> PeerId:
        return self._card.peer

    @property
    def zones(self) -> tuple[ZoneBox, ...]:
        return self._card.zones

    @property
    def key(self) -> SpacePoint:
        """Our own point, moved into the space."""
        return key_in(self.space, self._card.point)

    def owns(self, key: SpacePoint) -> bool:
        return any(zone.holds(key) for zone in self.zones)

    def set_zones(self, zones: Iterable[ZoneBox]) -> None:
        self._change(zones=merged(zones))

    def add_zones(self, zones: Iterable[ZoneBox]) -> None:
        """Add zones to ours; regions that we own already are not added twice."""
        self.set_zones([*self.zones, *left_of(zones, self.zones)])

    def readdress(self, address: str) -> None:
        self._change(address=address)

    def begin_to_leave(self) -> None:
        """A leaving peer has no capacity, so no site is assigned to it any more."""
        self.leaving = True
        self._change(capacity=0.0)

    def _change(self, **fields: object) -> None:
        self._card = msgspec.structs.replace(self._card, version=self._card.version + 1, **fields)
