"""The overlay's zones as a drawing with tables behind it."""

from __future__ import annotations

import re

import htpy as h

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.projection import Projection, projection_of
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteRecord
from ipmicra.web.pages.zones import NAMES_MAX, zones_drawing, zones_tables

SPACE = ZoneBox((0.0, 0.0), (4.0, 2.0))
WEST, EAST = SPACE.cut(0, 2.0)
CARDS = [
    PeerDescriptor(PeerId("oslo"), (0.5, 1.9), (WEST,)),
    PeerDescriptor(PeerId("lima"), (3.5, 0.1), (EAST,)),
]
SITE = SiteRecord("https://a.example", (0.4, 1.0), (0.4, 1.0), delegate=PeerId("oslo"))
TWO = projection_of(CARDS, SPACE, {PeerId("oslo"): 3}, [SITE])


def test_every_zone_peer_and_site_is_drawn_and_listed() -> None:
    drawing, tables = str(zones_drawing(TWO)), str(h.fragment[zones_tables(TWO)])
    assert (drawing.count("<polygon"), drawing.count("<circle"), drawing.count("<line")) == (2, 3, 1)
    assert "oslo: 3 sites" in drawing
    assert "https://a.example, crawled by oslo" in drawing
    assert tables.count("<tr>") == 3 + 2
    assert "50.0 %" in tables


def test_up_is_up_and_everything_is_inside_the_drawing() -> None:
    html = str(zones_drawing(TWO))
    spots = {
        name: (float(x), float(y))
        for x, y, name in re.findall(r'cx="([\d.]+)" cy="([\d.]+)" r="7"><title>(\w+):', html)
    }
    assert spots["oslo"][0] < spots["lima"][0]
    assert spots["oslo"][1] < spots["lima"][1], "the higher one is drawn nearer to the top"
    found = re.search(r'viewBox="0 0 (\d+) (\d+)"', html)
    assert found is not None
    width, height = map(int, found.groups())
    corners = [
        pair.split(",") for points in re.findall(r'points="([^"]+)"', html) for pair in points.split()
    ]
    assert all(0 <= float(x) <= width + 1 and 0 <= float(y) <= height + 1 for x, y in corners)


def test_names_are_left_out_where_there_are_too_many_peers() -> None:
    crowd = [PeerDescriptor(PeerId(f"p{n}"), (n / 50, n / 60), (WEST,)) for n in range(NAMES_MAX + 1)]
    assert "<text" not in str(zones_drawing(projection_of(crowd, SPACE, {})))
    assert "<text" in str(zones_drawing(projection_of(crowd[:-1], SPACE, {})))


def test_an_overlay_without_zones_is_said_in_words() -> None:
    nothing = Projection(axes=(0, 1), low=(0, 0), high=(1, 1), zones=(), peers=())
    assert "no zones yet" in str(zones_drawing(nothing))


def test_a_peers_name_is_no_markup() -> None:
    hostile = projection_of([PeerDescriptor(PeerId("<script>"), (0.5, 0.5), (SPACE,))], SPACE, {})
    assert "<script>" not in str(zones_drawing(hostile))
    assert "<script>" not in str(h.fragment[zones_tables(hostile)])
