"""A seed -> places of generated sites and crawlers: loopback addresses and the round trips between
cities.

Each city has a block of loopback addresses, so that near sites are near in the address space too, as with
real registries; each site has its own /24 in it. A round trip is light's time along the great circle in
fibre, half as much again, plus an access link.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import IPv4Address

from ipmicra.lab.loopback.pages import CITIES, MadeSite

FIRST_CITY_BLOCK = 16  # 127.16.0.0/16 is the first city's
SITE_NETWORKS = 200  # /24s of a city's block that have sites
CRAWLER_NETWORK = 200  # and the one that has its crawler
KM_PER_MS = 100.0  # of round trip in fibre
DETOUR = 1.5
ACCESS_MS = 2.0
EARTH_RADIUS_KM = 6371.0

POSITIONS: dict[str, tuple[float, float]] = {
    "Lima": (-12.0, -77.0),
    "Nairobi": (-1.3, 36.8),
    "Oslo": (59.9, 10.8),
    "Osaka": (34.7, 135.5),
    "Auckland": (-36.8, 174.8),
    "Toronto": (43.7, -79.4),
    "Nicosia": (35.2, 33.4),
    "Mumbai": (19.1, 72.9),
    "Lisbon": (38.7, -9.1),
    "Austin": (30.3, -97.7),
    "Accra": (5.6, -0.2),
    "Krakow": (50.1, 19.9),
}
COUNTRIES = dict(
    zip(POSITIONS, ("PE", "KE", "NO", "JP", "NZ", "CA", "CY", "IN", "PT", "US", "GH", "PL"), strict=True)
)


@dataclass(frozen=True)
class WebLayout:
    """Which site has which address, and how far a city is from another."""

    sites: dict[IPv4Address, MadeSite]

    @classmethod
    def of(cls, sites: list[MadeSite]) -> WebLayout:
        return cls({site_address(site.city, number + 1): site for number, site in enumerate(sites)})

    def round_trip_ms(self, asker: IPv4Address, site: str) -> float:
        """Between an address of a city's block and a site; nothing from elsewhere."""
        city = city_of(asker)
        there = next((made.city for made in self.sites.values() if made.name == site), None)
        return 0.0 if city is None or there is None else round_trip_ms(city, there)


def site_address(city: str, number: int) -> IPv4Address:
    network, machine = number % SITE_NETWORKS, number // SITE_NETWORKS + 1
    return IPv4Address(f"127.{FIRST_CITY_BLOCK + CITIES.index(city)}.{network}.{machine}")


def crawler_address(city: str) -> IPv4Address:
    return IPv4Address(f"127.{FIRST_CITY_BLOCK + CITIES.index(city)}.{CRAWLER_NETWORK}.1")


def city_of(address: IPv4Address) -> str | None:
    number = address.packed[1] - FIRST_CITY_BLOCK
    return CITIES[number] if address.packed[0] == 127 and 0 <= number < len(CITIES) else None


def round_trip_ms(one: str, other: str) -> float:
    """Between two cities."""
    return great_circle_ms(POSITIONS[one], POSITIONS[other]) * DETOUR + ACCESS_MS


def great_circle_ms(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Light's round trip in fibre between two positions (latitude, longitude), along the great circle."""
    (lat1, lon1), (lat2, lon2) = (tuple(map(math.radians, position)) for position in (one, other))
    cosine = math.sin(lat1) * math.sin(lat2) + math.cos(lat1) * math.cos(lat2) * math.cos(lon1 - lon2)
    return EARTH_RADIUS_KM * math.acos(min(1.0, max(-1.0, cosine))) / KM_PER_MS
