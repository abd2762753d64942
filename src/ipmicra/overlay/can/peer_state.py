"""Everything one peer knows: its own card, its neighbours, its sites, and copies of others' sites.

Law: state only. Who may do what with it is decided by the parts that share it; all of them change a
peer's card through here, so that its version rises with every change.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ipmicra.model.zones import SpacePoint, ZoneBox, key_in, left_of, merged
from ipmicra.overlay.can.neighbour_replicas import NeighbourReplicas
from ipmicra.overlay.can.neighbour_table import NeighbourTable
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.site_table import SiteTable
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId


class PeerState:
    """What the parts of one peer share."""

    def __init__(self, card: PeerDescriptor, space: ZoneBox, rules: PeerRules) -> None:
        self.space = space
        self.rules = rules
        self.table = NeighbourTable()
        self.book = SiteTable()
        self.copies = NeighbourReplicas()
        self.leaving = False
        self._card = card

    @property
    def card(self) -> PeerDescriptor:
        """My card with my load as it is now."""
        if self._card.load != self.book.load:
            self._change(load=self.book.load)
        return self._card

    @property
    def id(self) -> PeerId:
        return self._card.peer

    @property
    def zones(self) -> tuple[ZoneBox, ...]:
        return self._card.zones

    @property
    def key(self) -> SpacePoint:
        """My own point, moved into the space."""
        return key_in(self.space, self._card.point)

    def owns(self, key: SpacePoint) -> bool:
        return any(zone.holds(key) for zone in self.zones)

    def set_zones(self, zones: Iterable[ZoneBox]) -> None:
        self._change(zones=merged(zones))

    def add_zones(self, zones: Iterable[ZoneBox]) -> None:
        """Take zones on top of mine; what I hold already is not held twice."""
        self.set_zones([*self.zones, *left_of(zones, self.zones)])

    def readdress(self, address: str) -> None:
        self._change(address=address)

    def begin_to_leave(self) -> None:
        """A peer that leaves has no capacity: nobody hands it a site any more."""
        self.leaving = True
        self._change(capacity=0.0)

    def _change(self, **fields: object) -> None:
        self._card = msgspec.structs.replace(self._card, version=self._card.version + 1, **fields)
