"""An overlay's zones on a plane, its peers and their sites -> a drawing, and the tables behind it.

Zones are boxes in a space of more dimensions, so their rectangles lie over each other; where they do, the
colour is deeper. The drawing shows the part of the plane with peers and sites. Invariant: no I/O; works
without scripts.
"""

from __future__ import annotations

from collections.abc import Sequence

import htpy as h

from ipmicra.overlay.can.projection import PeerSpot, PlaneCorner, Projection, SiteSpot, ZoneShape
from ipmicra.web import formats
from ipmicra.web.components import TableColumn, table

WIDTH = 800.0
AROUND = 0.12  # of the drawn part's size, on each side
BEYOND = 0.02  # of the space's size, so that its border is seen
NAMES_MAX = 40  # peers; more names than that cover each other
ROWS_SHOWN = 300
_circle, _line, _polygon = h.Element("circle"), h.Element("line"), h.Element("polygon")
_text, _title, _group = h.Element("text"), h.Element("title"), h.Element("g")


def zones_drawing(picture: Projection) -> h.Element:
    """Up is up: the plane's second axis grows upwards."""
    if not picture.zones:
        return h.p(".quiet")["The overlay has no zones yet."]
    plane = _Plane(picture)
    named = len(picture.peers) <= NAMES_MAX
    return h.Element("svg")(
        ".drawing",
        viewBox=f"0 0 {plane.width:.0f} {plane.height:.0f}",
        role="img",
        aria_label="The overlay's zones; the tables below say the same",
    )[
        _group[(_zone(zone, plane) for zone in picture.zones)],
        _group[(_way(site, plane) for site in picture.sites)],
        _group[(_site(site, plane) for site in picture.sites)],
        _group[(_peer(peer, plane) for peer in picture.peers)],
        _group[(_name(peer, plane) for peer in picture.peers)] if named else None,
    ]


class _Plane:
    """From the plane to the drawing; what lies outside is drawn at its edge."""

    def __init__(self, picture: Projection) -> None:
        spots = [peer.at for peer in picture.peers] + [site.at for site in picture.sites]
        axes = [
            _shown([spot[axis] for spot in spots], picture.low[axis], picture.high[axis])
            for axis in (0, 1)
        ]
        (self._left, right), (self._bottom, self._top) = axes
        wide, high = right - self._left, self._top - self._bottom
        self._right, self._scale = right, WIDTH / max(wide, high)
        self.width, self.height = wide * self._scale, high * self._scale

    def place(self, corner: PlaneCorner) -> PlaneCorner:
        x = min(max(corner[0], self._left), self._right)
        y = min(max(corner[1], self._bottom), self._top)
        return (x - self._left) * self._scale, (self._top - y) * self._scale


def _shown(values: Sequence[float], space_low: float, space_high: float) -> tuple[float, float]:
    """Around all of them, but little beyond the end of the space."""
    low, high = min(values), max(values)
    around, beyond = AROUND * (high - low) or 1.0, BEYOND * (space_high - space_low)
    shown_low = max(low - around, min(low, space_low) - beyond)
    return shown_low, min(high + around, max(high, space_high) + beyond)


def _zone(zone: ZoneShape, plane: _Plane) -> h.Element:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(plane.place, zone.corners))
    title = f"a zone of {zone.peer}: {formats.percent(zone.share, 1)} of the space"
    return _polygon(".zone", points=points)[_title[title]]


def _way(site: SiteSpot, plane: _Plane) -> h.Element | None:
    if site.crawler_at is None:
        return None
    (x, y), (to_x, to_y) = plane.place(site.at), plane.place(site.crawler_at)
    return _line(".arc.near", x1=f"{x:.1f}", y1=f"{y:.1f}", x2=f"{to_x:.1f}", y2=f"{to_y:.1f}")


def _site(site: SiteSpot, plane: _Plane) -> h.Element:
    x, y = plane.place(site.at)
    dot = _circle(".subnet.near", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3.2")
    return dot[_title[f"{site.site}, crawled by {site.crawler or 'nobody yet'}"]]


def _peer(peer: PeerSpot, plane: _Plane) -> h.Element:
    x, y = plane.place(peer.at)
    dot = _circle(".crawler", cx=f"{x:.1f}", cy=f"{y:.1f}", r="7")
    return dot[_title[f"{peer.name}: {formats.plural(peer.sites, 'site')}"]]


def _name(peer: PeerSpot, plane: _Plane) -> h.Element:
    """The name, on the side with more space."""
    x, y = plane.place(peer.at)
    side, end = (11, "start") if x < plane.width / 2 else (-11, "end")
    return _text(x=f"{x + side:.1f}", y=f"{y + 4:.1f}", text_anchor=end)[peer.name]


def zones_tables(picture: Projection) -> h.Node:
    """The same in words."""
    peers = [
        (
            peer.name,
            _at(peer.at),
            formats.number(sum(zone.peer == peer.name for zone in picture.zones)),
            formats.percent(sum(zone.share for zone in picture.zones if zone.peer == peer.name), 1),
            formats.number(peer.sites),
        )
        for peer in picture.peers
    ]
    sites = [
        (site.site, _at(site.at), site.crawler or formats.UNKNOWN) for site in picture.sites[:ROWS_SHOWN]
    ]
    more = len(picture.sites) - len(sites)
    heads = ("peer", "stands at", TableColumn("zones", True), TableColumn("of the space", True))
    return [
        table((*heads, TableColumn("sites", True)), peers, caption="Peers"),
        table(("site", "lies at", "crawled by"), sites, caption="Sites"),
        h.p(".quiet.small")[f"and {more:,} more"] if more else None,
    ]


def _at(spot: PlaneCorner) -> str:
    return f"{spot[0]:.1f}, {spot[1]:.1f} ms"
