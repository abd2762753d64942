"""Where a site lies: landmarks apart from each other, and a point that fits the round trips to them."""

from __future__ import annotations

import math

import pytest

from ipmicra.errors import SiteFault
from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.overlay.live.placement import point_among, record_of_site, spread_landmarks
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId, SiteMeasured

SPACE = ZoneBox((-500.0, -500.0), (500.0, 500.0))
CORNERS: dict[str, SpacePoint] = {"a": (0.0, 0.0), "b": (100.0, 0.0), "c": (0.0, 100.0)}


def peer(name: str, point: SpacePoint) -> PeerDescriptor:
    return PeerDescriptor(PeerId(name), point, (SPACE,), address=f"{name}.example:7400")


def test_landmarks_are_as_far_apart_as_possible() -> None:
    around = [peer("near a", (1.0, 1.0)), *(peer(name, point) for name, point in CORNERS.items())]
    assert [each.peer for each in spread_landmarks(around, 3)] == ["a", "b", "c"]
    assert len(spread_landmarks(around, 12)) == 4
    assert spread_landmarks([], 12) == []


def test_a_point_is_found_from_its_distances() -> None:
    there = (30.0, 40.0)
    found = point_among(
        list(CORNERS.values()), [math.dist(there, corner) for corner in CORNERS.values()]
    )
    assert found == pytest.approx(there, abs=0.5)


def test_a_site_is_recorded_with_its_measurements_the_nearest_first() -> None:
    there = (30.0, 40.0)
    answers = [
        SiteMeasured("s", peer(name, point), math.dist(there, point)) for name, point in CORNERS.items()
    ]
    silent = SiteMeasured("s", peer("silent", (200.0, 200.0)), None)
    record = record_of_site("s", SPACE, [silent, *answers[::-1]])
    assert [each.peer for each in record.measured] == ["a", "c", "b"]
    assert record.measured[0].round_trip_ms == 50.0
    assert record.point == pytest.approx(there, abs=0.5)


def test_a_site_that_answers_no_peer_is_said_to_be_silent() -> None:
    with pytest.raises(SiteFault, match=r"answered none of 1 peers; check that it is up"):
        record_of_site("s", SPACE, [SiteMeasured("s", peer("a", CORNERS["a"]), None)])
