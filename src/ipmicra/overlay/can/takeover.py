"""A neighbour that fell silent -> which of its zones are mine to claim, and when.

Every neighbour of the dead peer knows the same candidates: the dead peer's neighbours, from its last
greeting. For each zone they rank them alike, by the distance of their points to the zone's centre; the
first claims at once, each further one a step later if nobody has claimed before. Who never heard the
dead peer itself does not know the candidates and lets those who do go first. (CAN lets the
smallest neighbour take over; for the distance between crawlers and sites that is the worst choice.)
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import NamedTuple

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.neighbour_table import Neighbour, borders
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId

PATIENCE_WITH_STRANGERS = 3  # steps


class ZonesToClaim(NamedTuple):
    """Zones to take now, and those left to others or to a later turn."""

    zones: tuple[ZoneBox, ...]
    rest: tuple[ZoneBox, ...]


def zones_to_claim(
    me: PeerDescriptor, dead: Neighbour, also_dead: Container[PeerId], turn: int
) -> ZonesToClaim:
    """`turn`: how many steps have gone by since the neighbour counts as dead."""
    turn -= 0 if dead.met else PATIENCE_WITH_STRANGERS
    mine = tuple(zone for zone in dead.card.zones if rank_for(zone, me, dead, also_dead) <= turn)
    rest = tuple(zone for zone in dead.card.zones if zone not in mine)
    return ZonesToClaim(mine, rest)


def rank_for(zone: ZoneBox, me: PeerDescriptor, dead: Neighbour, also_dead: Container[PeerId]) -> int:
    """My place among the candidates for a zone; 0 is first. Only who borders the zone is a candidate."""
    others = {peer: card for peer, card in dead.neighbours.items() if peer not in also_dead}
    candidates = {**others, me.peer: me}
    candidates.pop(dead.card.peer, None)
    bordering = [c for c in candidates.values() if c.peer == me.peer or borders(c.zones, [zone])]
    ranked = sorted(bordering, key=lambda card: (math.dist(card.point, zone.centre), card.peer))
    return [card.peer for card in ranked].index(me.peer)
