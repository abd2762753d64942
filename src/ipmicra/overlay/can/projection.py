"""Cards of peers -> their zones and points on a plane, to be drawn.

The plane is that of the two axes along which the peers' points differ most. A box becomes a rectangle;
where the space has further axes, rectangles lie over each other, and `depth` says which is in front: the
middle of the zone along the next axis, from 0 at the space's low end to 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import pstdev

import msgspec

from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteRecord

PlaneCorner = tuple[float, float]


class ZoneShape(msgspec.Struct, frozen=True):
    """One zone; corners in ms, counter-clockwise from the low ones."""

    peer: PeerId
    corners: tuple[PlaneCorner, PlaneCorner, PlaneCorner, PlaneCorner]
    depth: float
    share: float  # of the space


class PeerSpot(msgspec.Struct, frozen=True):
    """Where one peer stands, and how many pages the sites have that it crawls."""

    name: PeerId
    at: PlaneCorner
    load: float
    sites: int


class SiteSpot(msgspec.Struct, frozen=True):
    """Where one site lies, and where its crawler stands, if that is known."""

    site: str
    at: PlaneCorner
    crawler: PeerId
    crawler_at: PlaneCorner | None


class Projection(msgspec.Struct, frozen=True):
    """All there is to draw; the frame is the space's."""

    axes: tuple[int, int]
    low: PlaneCorner
    high: PlaneCorner
    zones: tuple[ZoneShape, ...]
    peers: tuple[PeerSpot, ...]
    sites: tuple[SiteSpot, ...] = ()


def projected(
    cards: Sequence[PeerDescriptor],
    space: ZoneBox,
    sites: Mapping[PeerId, int],
    records: Iterable[SiteRecord] = (),
) -> Projection:
    """Those cards on the plane that shows most of their differences; deepest zones first.

    `sites` says how many sites a peer crawls, where that is known; `records` are sites to be drawn.
    """
    order = _axes_by_spread([card.point for card in cards], space.dimensions)
    first, second = (order[0], order[1]) if len(order) > 1 else (0, 0)
    behind = order[2] if len(order) > 2 else None
    zones = [
        _zone(card.peer, zone, space, first, second, behind) for card in cards for zone in card.zones
    ]
    peers = [
        PeerSpot(card.peer, (card.point[first], card.point[second]), card.load, sites.get(card.peer, 0))
        for card in cards
    ]
    return Projection(
        axes=(first, second),
        low=(space.low[first], space.low[second]),
        high=(space.high[first], space.high[second]),
        zones=tuple(sorted(zones, key=lambda zone: (zone.depth, zone.peer, zone.corners))),
        peers=tuple(sorted(peers, key=lambda peer: peer.name)),
        sites=tuple(_sites(records, {peer.name: peer.at for peer in peers}, first, second)),
    )


def _sites(
    records: Iterable[SiteRecord], stand: Mapping[PeerId, PlaneCorner], first: int, second: int
) -> list[SiteSpot]:
    return [
        SiteSpot(
            record.site,
            (record.point[first], record.point[second]),
            record.delegate,
            stand.get(record.delegate),
        )
        for record in sorted(records, key=lambda record: record.site)
    ]


def _axes_by_spread(points: Sequence[SpacePoint], dimensions: int) -> list[int]:
    spreads = [
        pstdev([point[axis] for point in points]) if points else 0.0 for axis in range(dimensions)
    ]
    return sorted(range(dimensions), key=lambda axis: (-spreads[axis], axis))


def _zone(
    peer: PeerId, zone: ZoneBox, space: ZoneBox, first: int, second: int, behind: int | None
) -> ZoneShape:
    left, right = zone.low[first], zone.high[first]
    bottom, top = zone.low[second], zone.high[second]
    depth = 0.0
    if behind is not None:
        depth = (zone.centre[behind] - space.low[behind]) / space.sides[behind]
    corners = ((left, bottom), (right, bottom), (right, top), (left, top))
    return ZoneShape(peer, corners, depth, zone.volume / space.volume)
