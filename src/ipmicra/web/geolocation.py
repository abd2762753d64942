"""Reports, subnets and countries -> places on the map.

A host stands where its owner says; else, as a subnet does, in the middle of the country that its address
is registered in. Subnets of one country are spread around its middle so that each can be seen.

Law: pure but for the table of countries, which is read once: the middle of each country's largest piece
in Natural Earth's 1:50m shapes, by ISO code.
"""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec

SPREAD_DEGREES = 1.5
_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))


class Spot(NamedTuple):
    """Degrees north and east."""

    latitude: float
    longitude: float


class Country(NamedTuple):
    latitude: float
    longitude: float
    name: str


@cache
def countries() -> dict[str, Country]:
    text = (files("ipmicra.web") / "countries.json").read_bytes()
    found = msgspec.json.decode(text, type=dict[str, tuple[float, float, str]])
    return {code: Country(*entry) for code, entry in found.items()}


def country_name(code: str) -> str:
    known = countries().get(code.upper())
    return code if known is None else known.name


def middle_of(code: str) -> Spot | None:
    known = countries().get(code.upper())
    return None if known is None else Spot(known.latitude, known.longitude)


def told_position(report: dict[str, object]) -> Spot | None:
    """Where a host's owner says that it stands."""
    try:
        spot = msgspec.convert(report.get("position"), tuple[float, float])
    except msgspec.ValidationError:
        return None
    return Spot(*spot) if abs(spot[0]) <= 90 and abs(spot[1]) <= 180 else None


def spread(middle: Spot, number: int) -> Spot:
    """The place of the so-manieth of a country's subnets: like the seeds of a sunflower."""
    if number == 0:
        return middle
    away, angle = SPREAD_DEGREES * math.sqrt(number), number * _GOLDEN_ANGLE
    latitude = max(-85.0, min(85.0, middle.latitude + away * math.sin(angle)))
    wide = max(0.3, math.cos(math.radians(latitude)))
    longitude = middle.longitude + away * math.cos(angle) / wide
    return Spot(round(latitude, 2), round((longitude + 180) % 360 - 180, 2))
