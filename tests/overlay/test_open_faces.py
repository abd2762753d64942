"""Zone faces: which parts have no neighbour, and how far the gap behind one reaches."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from ipmicra.model.zones import ZoneBox, left_of
from ipmicra.overlay.can.zones.open_faces import open_faces

SPACE = ZoneBox((0.0, 0.0), (4.0, 4.0))
MINE = ZoneBox((0.0, 0.0), (2.0, 2.0))


def test_a_zone_among_others_at_the_spaces_end_has_no_open_face() -> None:
    others = [ZoneBox((2.0, 0.0), (4.0, 3.0)), ZoneBox((0.0, 2.0), (2.0, 4.0))]
    assert open_faces([MINE], others, SPACE) == []


def test_the_part_of_a_face_without_a_neighbour_is_open() -> None:
    others = [ZoneBox((2.0, 0.0), (4.0, 1.0)), ZoneBox((0.0, 2.0), (2.0, 4.0))]
    (face,) = open_faces([MINE], others, SPACE)
    assert (face.axis, face.upwards, face.at, face.part) == (0, True, 2.0, ZoneBox((1.0,), (2.0,)))
    assert face.gap(SPACE, others) == ZoneBox((2.0, 1.0), (4.0, 2.0))
    assert face.gap(SPACE, [*others, ZoneBox((3.0, 0.0), (4.0, 4.0))]) == ZoneBox((2.0, 1.0), (3.0, 2.0))
    assert face.gap(SPACE, [*others, ZoneBox((2.0, 1.0), (3.0, 2.0))]) is None


def test_a_gap_below_reaches_down_to_the_spaces_end() -> None:
    high = ZoneBox((2.0, 2.0), (4.0, 4.0))
    others = [ZoneBox((0.0, 2.0), (2.0, 4.0))]
    (face,) = open_faces([high], others, SPACE)
    assert high.low[1] > face.point_beyond()[1]
    assert face.gap(SPACE, others) == ZoneBox((2.0, 0.0), (4.0, 2.0))


@given(seed=st.integers(0, 10_000), dead=st.integers(1, 6))
def test_claiming_what_is_behind_open_faces_fills_any_gap(seed: int, dead: int) -> None:
    dice, space = Random(seed), ZoneBox((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    zones = [space]
    while len(zones) < 12:
        zone, axis = zones.pop(dice.randrange(len(zones))), dice.randrange(3)
        zones += zone.cut(axis, dice.uniform(zone.low[axis], zone.high[axis]))
    mine = zones[dead:]
    for _ in range(200):
        faces = open_faces(mine, [], space)
        if not faces:
            break
        gap = faces[0].gap(space, mine)
        assert gap is not None
        mine += left_of([gap], mine)
    assert abs(sum(zone.volume for zone in mine) - 1) < 1e-9
