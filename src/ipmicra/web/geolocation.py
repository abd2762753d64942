"""Reports, subnets and countries -> positions on the map.

A host is drawn where its owner says; otherwise, like a subnet, at the centre of the country in which its
address is registered. Subnets of one country are spread around its centre so that each can be seen.

Invariant: no I/O except the table of countries, which is read once: the centre of each country's largest
area in Natural Earth's 1:50m shapes, by ISO code.
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


def reported_position(report: dict[str, object]) -> Spot | None:
    """The position that the host's owner configured."""
    try:
        spot = msgspec.convert(report.get("position"), tuple[float, float])
    except msgspec.ValidationError:
        return None
    return Spot(*spot) if abs(spot[0]) <= 90 and abs(spot[1]) <= 180 else None


def spread(middle: Spot, number: int) -> Spot:
    """The position of a country's subnet with this number, on a sunflower spiral around the centre."""
    if number == 0:
        return middle
    away, angle = SPREAD_DEGREES * math.sqrt(number), number * _GOLDEN_ANGLE
    latitude = max(-85.0, min(85.0, middle.latitude + away * math.sin(angle)))
    wide = max(0.3, math.cos(math.radians(latitude)))
    longitude = middle.longitude + away * math.cos(angle) / wide
    return Spot(round(latitude, 2), round((longitude + 180) % 360 - 180, 2))
