"""Zones on a plane: the axes with the largest differences, rectangles, and depth for further axes."""

from __future__ import annotations

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.projection import projection_of
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteRecord

SPACE = ZoneBox((-10.0, -10.0, -10.0), (10.0, 10.0, 10.0))
LOWER, UPPER = SPACE.cut(2, 0.0)
DESCRIPTORS = [
    PeerDescriptor(PeerId("low"), (0.0, 1.0, -5.0), (LOWER,), load=3.0),
    PeerDescriptor(PeerId("high"), (0.0, -1.0, 5.0), (UPPER,)),
]


def test_the_plane_is_that_of_the_axes_along_which_peers_differ_most() -> None:
    drawn = projection_of(DESCRIPTORS, SPACE, {PeerId("low"): 7})
    assert drawn.axes == (2, 1)
    assert [(peer.name, peer.at, peer.load, peer.sites) for peer in drawn.peers] == [
        ("high", (5.0, -1.0), 0.0, 0),
        ("low", (-5.0, 1.0), 3.0, 7),
    ]


def test_rectangles_on_the_plane_keep_sides_and_share() -> None:
    drawn = projection_of(DESCRIPTORS, SPACE, {PeerId("low"): 7})
    shapes = {zone.peer: zone for zone in drawn.zones}
    assert shapes[PeerId("low")].corners == ((-10.0, -10.0), (0.0, -10.0), (0.0, 10.0), (-10.0, 10.0))
    assert sum(zone.share for zone in drawn.zones) == 1.0
    assert {zone.depth for zone in drawn.zones} == {0.5}


def test_a_line_and_an_empty_network_are_drawn_too() -> None:
    line = ZoneBox((0.0,), (1.0,))
    assert projection_of([PeerDescriptor(PeerId("one"), (0.5,), (line,))], line, {}).axes == (0, 0)
    assert projection_of([], SPACE, {}).zones == ()


def test_a_site_lies_beside_the_peer_that_crawls_it() -> None:
    near, stray = (
        SiteRecord(name, (0.0, 2.0, -4.0), (0.0, 2.0, -4.0), delegate=PeerId(crawler))
        for name, crawler in (("a.example", "low"), ("b.example", "another"))
    )
    drawn = projection_of(DESCRIPTORS, SPACE, {}, [stray, near])
    assert [(site.site, site.at, site.crawler_at) for site in drawn.sites] == [
        ("a.example", (-4.0, 2.0), (-5.0, 1.0)),
        ("b.example", (-4.0, 2.0), None),
    ]
