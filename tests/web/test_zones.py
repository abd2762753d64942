"""The overlay's zones as a drawing with a table behind it."""

from __future__ import annotations

import re

import msgspec

from ipmicra.web.zones import PeerSpot, ZonePicture, rectangle, zones_figure

TWO = ZonePicture(
    zones=(rectangle("oslo", (0, 0), (1, 2)), rectangle("lima", (1, 0), (2, 2))),
    peers=(PeerSpot(name="oslo", at=(0.5, 2.0), sites=3), PeerSpot(name="lima", at=(1.5, 0.0))),
)


def test_every_zone_and_every_peer_is_drawn_and_listed() -> None:
    html = str(zones_figure(TWO))
    assert html.count("<polygon") == html.count("<circle") == 2
    assert html.count("<tr>") == 3
    assert "oslo: 3 sites" in html


def test_up_is_up_and_everything_is_inside_the_drawing() -> None:
    html = str(zones_figure(TWO))
    oslo, lima = ((float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', html))
    assert oslo[0] < lima[0]
    assert oslo[1] < lima[1], "the higher one is drawn nearer to the top"
    found = re.search(r'viewBox="0 0 (\d+) (\d+)"', html)
    assert found is not None
    width, height = map(int, found.groups())
    corners = [
        pair.split(",") for points in re.findall(r'points="([^"]+)"', html) for pair in points.split()
    ]
    assert all(0 < float(x) < width and 0 < float(y) < height for x, y in corners)


def test_a_picture_is_json_and_back() -> None:
    assert msgspec.json.decode(msgspec.json.encode(TWO), type=ZonePicture) == TWO


def test_an_overlay_without_zones_is_said_in_words() -> None:
    assert "no zones yet" in str(zones_figure(ZonePicture()))


def test_a_peers_name_is_no_markup() -> None:
    html = str(zones_figure(ZonePicture(peers=(PeerSpot(name="<script>", at=(0, 0)),))))
    assert "<script>" not in html
