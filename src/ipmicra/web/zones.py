"""Zones of an overlay as shapes in a plane, and its peers -> a drawing, and the table behind it.

Zones are boxes in a space of many dimensions; whoever shows them projects them first and hands over
shapes and points in the plane. Law: pure; works without scripts.
"""

from __future__ import annotations

from collections.abc import Sequence

import htpy as h
import msgspec

from ipmicra.web import words
from ipmicra.web.parts import Column, behind, table

WIDTH = 800.0
MARGIN = 24.0
Corner = tuple[float, float]


class ZoneShape(msgspec.Struct, frozen=True, kw_only=True):
    """A peer's zone: the corners of its outline in order."""

    peer: str
    corners: tuple[Corner, ...]


class PeerSpot(msgspec.Struct, frozen=True, kw_only=True):
    """Where a peer stands."""

    name: str
    at: Corner
    sites: int = 0


class ZonePicture(msgspec.Struct, frozen=True, kw_only=True):
    """What is drawn; its JSON is what a peer or a coordinator hands over."""

    zones: tuple[ZoneShape, ...] = ()
    peers: tuple[PeerSpot, ...] = ()


def rectangle(peer: str, low: Corner, high: Corner) -> ZoneShape:
    """A zone that is a rectangle in the plane, too."""
    (left, bottom), (right, top) = low, high
    return ZoneShape(peer=peer, corners=((left, bottom), (right, bottom), (right, top), (left, top)))


def zones_figure(picture: ZonePicture) -> h.Element:
    """The drawing with its table. Up is up: the plane's second axis grows upwards."""
    spots = [corner for zone in picture.zones for corner in zone.corners]
    spots += [peer.at for peer in picture.peers]
    if not spots:
        return h.p(".quiet")["The overlay has no zones yet."]
    plane = _Plane(spots)
    svg = h.Element("svg")
    drawing = svg(
        ".drawing",
        viewBox=f"0 0 {plane.width:.0f} {plane.height:.0f}",
        role="img",
        aria_label="The overlay's zones; the table below says the same",
    )[(_zone(zone, plane) for zone in picture.zones), (_peer(peer, plane) for peer in picture.peers)]
    return h.figure[drawing, behind("The same as a table", _table(picture))]


class _Plane:
    """From the plane to the drawing."""

    def __init__(self, spots: Sequence[Corner]) -> None:
        across, upward = [x for x, _ in spots], [y for _, y in spots]
        self._left, self._top = min(across), max(upward)
        wide = (max(across) - min(across)) or 1.0
        high = (max(upward) - min(upward)) or 1.0
        self._scale = (WIDTH - 2 * MARGIN) / max(wide, high)
        self.width = wide * self._scale + 2 * MARGIN
        self.height = high * self._scale + 2 * MARGIN

    def place(self, corner: Corner) -> Corner:
        x, y = corner
        return (x - self._left) * self._scale + MARGIN, (self._top - y) * self._scale + MARGIN


def _zone(zone: ZoneShape, plane: _Plane) -> h.Element:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(plane.place, zone.corners))
    return h.Element("polygon")(".zone", points=points)[h.Element("title")[f"the zone of {zone.peer}"]]


def _peer(peer: PeerSpot, plane: _Plane) -> h.Node:
    x, y = plane.place(peer.at)
    dot = h.Element("circle")(".crawler", cx=f"{x:.1f}", cy=f"{y:.1f}", r="6")
    return [
        dot[h.Element("title")[f"{peer.name}: {words.plural(peer.sites, 'site')}"]],
        h.Element("text")(x=f"{x + 9:.1f}", y=f"{y - 6:.1f}")[peer.name],
    ]


def _table(picture: ZonePicture) -> h.Renderable:
    zones = {peer.name: 0 for peer in picture.peers}
    for zone in picture.zones:
        zones[zone.peer] = zones.get(zone.peer, 0) + 1
    peers = {peer.name: peer for peer in picture.peers}
    rows = [
        (
            name,
            f"{peers[name].at[0]:.1f}, {peers[name].at[1]:.1f}" if name in peers else words.UNKNOWN,
            words.number(count),
            words.number(peers[name].sites) if name in peers else words.UNKNOWN,
        )
        for name, count in sorted(zones.items())
    ]
    return table(("peer", "stands at", Column("zones", True), Column("sites", True)), rows)
