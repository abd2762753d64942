"""Crawlers that join, sleep and measure each other -> the crawlers that may be asked now.

Invariant: the order of crawlers is the order in which they joined; no decision depends on the order of a set.
"""

from __future__ import annotations

import math

import msgspec

from ipmicra.addresses import IPAddress
from ipmicra.model.ids import CrawlerId

EARTH_RADIUS_KM = 6371.0


class GeoPosition(msgspec.Struct, frozen=True):
    """A place on Earth, in degrees."""

    latitude: float
    longitude: float

    def distance_km(self, other: GeoPosition) -> float:
        """Along the great circle (haversine)."""
        lat_a, lat_b = math.radians(self.latitude), math.radians(other.latitude)
        half_lat = (lat_b - lat_a) / 2
        half_lon = math.radians(other.longitude - self.longitude) / 2
        chord = math.sin(half_lat) ** 2 + math.cos(lat_a) * math.cos(lat_b) * math.sin(half_lon) ** 2
        return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(chord)))


class CrawlerProfile(msgspec.Struct, frozen=True):
    """The facts about a crawler. Its host provides them, so position and country may be exact."""

    id: CrawlerId
    address: IPAddress | None = None
    capacity_bytes_a_day: float = math.inf
    weight: float = 1.0  # its share in hashing, relative to the others
    awake: bool = True
    country: str | None = None
    position: GeoPosition | None = None


class Crawlers:
    """The crawlers, which of them are awake, and their round trips to each other."""

    def __init__(self) -> None:
        self._profiles: dict[CrawlerId, CrawlerProfile] = {}
        self._mutual_ms: dict[tuple[CrawlerId, CrawlerId], float] = {}
        self._load_bytes_a_day: dict[CrawlerId, float] = {}
        self._awake: tuple[CrawlerId, ...] = ()

    def join(self, profile: CrawlerProfile) -> None:
        """A new crawler, or an update of a known one."""
        self._profiles[profile.id] = profile
        self._count_awake()

    def leave(self, crawler: CrawlerId) -> None:
        self._profiles.pop(crawler, None)
        self._load_bytes_a_day.pop(crawler, None)
        self._mutual_ms = {pair: ms for pair, ms in self._mutual_ms.items() if crawler not in pair}
        self._count_awake()

    def load(self, crawler: CrawlerId, bytes_a_day: float) -> None:
        """Bytes per day that its delegations make it fetch, by the latest count."""
        if crawler in self._profiles:
            self._load_bytes_a_day[crawler] = bytes_a_day

    def fullness(self, crawler: CrawlerId) -> float:
        """Its load as a share of its capacity; 0 if the load is unknown."""
        return self._load_bytes_a_day.get(crawler, 0.0) / self._profiles[crawler].capacity_bytes_a_day

    def set_awake(self, crawler: CrawlerId, awake: bool) -> None:
        if (profile := self._profiles.get(crawler)) is not None:
            self._profiles[crawler] = msgspec.structs.replace(profile, awake=awake)
            self._count_awake()

    def measure(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        """The two measured each other; the latest value counts, for both directions."""
        if one in self._profiles and other in self._profiles:
            self._mutual_ms[one, other] = self._mutual_ms[other, one] = round_trip_ms

    def mutual_ms(self, one: CrawlerId, other: CrawlerId) -> float | None:
        return 0.0 if one == other else self._mutual_ms.get((one, other))

    def detour_ms(self, one: CrawlerId, other: CrawlerId) -> float:
        """The shortest path between two through a third; infinite without measurements."""
        ways = (
            (self._mutual_ms.get((one, third)), self._mutual_ms.get((third, other)))
            for third in self._profiles
        )
        return min((to + on for to, on in ways if to is not None and on is not None), default=math.inf)

    def profile(self, crawler: CrawlerId) -> CrawlerProfile:
        return self._profiles[crawler]

    @property
    def awake(self) -> tuple[CrawlerId, ...]:
        return self._awake

    @property
    def all(self) -> tuple[CrawlerId, ...]:
        return tuple(self._profiles)

    def is_awake(self, crawler: CrawlerId) -> bool:
        profile = self._profiles.get(crawler)
        return profile is not None and profile.awake

    def __contains__(self, crawler: CrawlerId) -> bool:
        return crawler in self._profiles

    def __len__(self) -> int:
        return len(self._profiles)

    def _count_awake(self) -> None:
        self._awake = tuple(name for name, profile in self._profiles.items() if profile.awake)
