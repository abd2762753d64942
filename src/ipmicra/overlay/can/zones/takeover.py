"""A dead neighbour -> the zones of it that we may claim, and when.

Every neighbour of the dead peer knows the same candidates: the dead peer's neighbours, from its last
update. All rank them in the same way for each zone, by the distance of their points to the zone's centre;
the first claims at once, each further one a step later if no one has claimed before. A peer that never
received an update from the dead peer itself does not know the candidates and lets the others go first. (CAN
lets the smallest neighbour take over; for the distance between crawlers and sites that is the worst choice.)
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import NamedTuple

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.neighbour_table import Neighbour, borders
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId

INDIRECT_WAIT_STEPS = 3  # steps


class ZonesToClaim(NamedTuple):
    """Zones to claim now, and those left to other peers or to a later turn."""

    zones: tuple[ZoneBox, ...]
    rest: tuple[ZoneBox, ...]


def zones_to_claim(
    me: PeerDescriptor, dead: Neighbour, also_dead: Container[PeerId], turn: int
) -> ZonesToClaim:
    """`turn`: number of steps since the neighbour counts as dead."""
    turn -= 0 if dead.has_contacted_me else INDIRECT_WAIT_STEPS
    mine = tuple(zone for zone in dead.descriptor.zones if rank_for(zone, me, dead, also_dead) <= turn)
    rest = tuple(zone for zone in dead.descriptor.zones if zone not in mine)
    return ZonesToClaim(mine, rest)


def rank_for(zone: ZoneBox, me: PeerDescriptor, dead: Neighbour, also_dead: Container[PeerId]) -> int:
    """Our rank among the candidates for a zone; 0 is first. Only peers that border the zone count."""
    others = {peer: descriptor for peer, descriptor in dead.neighbours.items() if peer not in also_dead}
    candidates = {**others, me.peer: me}
    candidates.pop(dead.descriptor.peer, None)
    bordering = [c for c in candidates.values() if c.peer == me.peer or borders(c.zones, [zone])]
    ranked = sorted(
        bordering, key=lambda descriptor: (math.dist(descriptor.point, zone.centre), descriptor.peer)
    )
    return [descriptor.peer for descriptor in ranked].index(me.peer)
