"""Peer descriptors -> their zones and points on a plane, to be drawn.

The plane is spanned by the two axes along which the peers' points differ most. A box becomes a rectangle;
if the space has more axes, rectangles overlap, and `depth` orders them: the middle of the zone along the
next axis, from 0 at the low end of the space to 1.
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
    """The position of one peer, and the number of pages of the sites that it crawls."""

    name: PeerId
    at: PlaneCorner
    load: float
    sites: int


class SiteSpot(msgspec.Struct, frozen=True):
    """The position of one site, and of its crawler, if known."""

    site: str
    at: PlaneCorner
    crawler: PeerId
    crawler_at: PlaneCorner | None


class Projection(msgspec.Struct, frozen=True):
    """Everything to draw; the frame is that of the space."""

    axes: tuple[int, int]
    low: PlaneCorner
    high: PlaneCorner
    zones: tuple[ZoneShape, ...]
    peers: tuple[PeerSpot, ...]
    sites: tuple[SiteSpot, ...] = ()


def projection_of(
    descriptors: Sequence[PeerDescriptor],
    space: ZoneBox,
    sites: Mapping[PeerId, int],
    records: Iterable[SiteRecord] = (),
) -> Projection:
    """These peers on the plane that shows most of their differences; deepest zones first.

    `sites`: number of sites that a peer crawls, if known. `records`: sites to draw.
    """
    order = _axes_by_spread([descriptor.point for descriptor in descriptors], space.dimensions)
    first, second = (order[0], order[1]) if len(order) > 1 else (0, 0)
    behind = order[2] if len(order) > 2 else None
    zones = [
        _zone(descriptor.peer, zone, space, first, second, behind)
        for descriptor in descriptors
        for zone in descriptor.zones
    ]
    peers = [
        PeerSpot(
            descriptor.peer,
            (descriptor.point[first], descriptor.point[second]),
            descriptor.load,
            sites.get(descriptor.peer, 0),
        )
        for descriptor in descriptors
    ]
    return Projection(
        axes=(first, second),
        low=(space.low[first], space.low[second]),
        high=(space.high[first], space.high[second]),
        zones=tuple(sorted(zones, key=lambda zone: (zone.depth, zone.peer, zone.corners))),
        peers=tuple(sorted(peers, key=lambda peer: peer.name)),
        sites=tuple(_site_spots(records, {peer.name: peer.at for peer in peers}, first, second)),
    )


def _site_spots(
    records: Iterable[SiteRecord], positions: Mapping[PeerId, PlaneCorner], first: int, second: int
) -> list[SiteSpot]:
    return [
        SiteSpot(
            record.site,
            (record.point[first], record.point[second]),
            record.delegate,
            positions.get(record.delegate),
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
