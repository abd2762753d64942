"""Places on the map, and words for numbers."""

from __future__ import annotations

import math

import pytest

from ipmicra.web import formats
from ipmicra.web.geolocation import Spot, country_name, middle_of, reported_position, spread


@pytest.mark.parametrize(
    ("code", "latitude", "longitude"), [("CY", 35, 33), ("no", 64, 14), ("PE", -9, -74), ("US", 40, -99)]
)
def test_a_country_has_a_centre(code: str, latitude: float, longitude: float) -> None:
    middle = middle_of(code)
    assert middle is not None
    assert math.dist(middle, (latitude, longitude)) < 3


def test_an_unknown_country_has_none() -> None:
    assert middle_of("") is None
    assert middle_of("ZZ") is None
    assert country_name("ZZ") == "ZZ"


@pytest.mark.parametrize("position", [None, "Oslo", [1], [91, 0], [0, 181], [True, "x"], [1, 2, 3]])
def test_a_position_that_is_none_is_not_believed(position: object) -> None:
    assert reported_position({"position": position}) is None


def test_subnets_of_one_country_lie_apart_and_on_the_globe() -> None:
    for middle in (Spot(64, 14), Spot(84, 179), Spot(-84, -179)):
        spots = [spread(middle, number) for number in range(200)]
        assert len(set(spots)) == 200
        assert all(abs(spot.latitude) <= 90 and abs(spot.longitude) <= 180 for spot in spots)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "", "0"),
        (7, "", "7"),
        (999, "", "999"),
        (1000, "", "1.00 k"),
        (48_782_705.9, "", "48.8 M"),
        (579_123, "B", "579 kB"),
        (12, "B", "12 B"),
        (0, "B", "0 B"),
        (-1500, "", "−1.50 k"),
        (999_999, "", "1.00 M"),
        (0.5, "", "0.50"),
        (None, "", "–"),
    ],
)
def test_numbers_are_short_and_have_their_unit(value: float | None, unit: str, text: str) -> None:
    assert formats.short(value, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (200_000, "2 d"), (None, "–")],
)
def test_spans_are_said_in_their_largest_unit(seconds: float | None, text: str) -> None:
    assert formats.span(seconds) == text
