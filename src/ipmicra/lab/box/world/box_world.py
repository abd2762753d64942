"""The box's world, as in its file: places, crawlers, sites, latencies, faults; typed.

    places      somewhere on the network; a position where latencies come by the formula
    crawlers    each in a place, with public addresses and an access link, behind NAT or not
    coordinator where `ipmicra coordinator run` lives
    sites       each with one stand or more; a stand with several places is anycast, several stands are
                a CDN: the name server gives each asker the stand nearest to it
        faults      cut, lossy or slow paths between two sides, and when

Invariant: plain frozen values; `validation.py` checks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec

from ipmicra.lab.world import Milliseconds

EVERYBODY = "*"
COORDINATOR = "coordinator"

FaultKind: TypeAlias = Literal["cut", "loss", "slower"]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class BoxPlace(_Record, frozen=True, kw_only=True):
    name: str
    latitude: float | None = None
    longitude: float | None = None
    country: str = ""
    continent: str = ""


class AccessLink(_Record, frozen=True, kw_only=True):
    """Rates of 0 are without limit; the drop-tail queue is that long at its rate."""

    up_mbit: float = 0.0
    down_mbit: float = 0.0
    queue_ms: float = 200.0


class BoxCrawler(_Record, frozen=True, kw_only=True):
    name: str
    place: str
    addresses: tuple[str, ...]
    nat: bool = True  # flows to it cannot be opened from outside
    link: AccessLink = AccessLink()


class BoxCoordinator(_Record, frozen=True, kw_only=True):
    place: str
    addresses: tuple[str, ...]
    link: AccessLink = AccessLink()


class Stand(_Record, frozen=True, kw_only=True):
    """Where a site is served: addresses or prefixes of it, in one place or (anycast) in many."""

    places: tuple[str, ...]
    addresses: tuple[str, ...]
    link: AccessLink = AccessLink()


class BoxSite(_Record, frozen=True, kw_only=True):
    name: str
    stands: tuple[Stand, ...]
    pages: int = 10
    page_bytes: int = 3_000  # about; of prose and links
    think_ms: float = 0.0  # before each answer
    serves: bool = True  # False: a black hole, packets to it vanish


class BoxFault(_Record, frozen=True, kw_only=True):
    """Between `one` and `other`: names of crawlers, sites or places, continents, coordinator, or *."""

    at_s: float
    until_s: float = float("inf")
    kind: FaultKind
    one: tuple[str, ...]
    other: tuple[str, ...] = (EVERYBODY,)
    loss: float = 0.0  # with "loss"
    round_trip_ms: float = 0.0  # with "slower": added


class Formula(_Record, frozen=True, kw_only=True):
    """Light in fibre along the great circle, times a factor, plus both access links."""

    detour: float = 1.5
    access_ms: float = 2.0


class WorldFile(_Record, frozen=True, kw_only=True):
    """The contents of world.toml."""

    name: str
    seed: int = 1
    jitter_ms: float = 0.0  # each packet strays later by up to this, uniformly, one way
    loss: float = 0.0
    names_address: str = "9.9.9.9"  # the name server's, in the box
    names_ms: float = 1.0  # everyone's round trip to it
    latencies: str = ""  # a CSV beside the file: from, to, round_trip_ms; empty: the formula
    formula: Formula = Formula()
    places: tuple[BoxPlace, ...]
    coordinator: BoxCoordinator
    crawlers: tuple[BoxCrawler, ...]
    sites: tuple[BoxSite, ...]
    faults: tuple[BoxFault, ...] = ()


@dataclass(frozen=True)
class BoxWorld:
    """The file, and the round trips between its places in their order; NaN where unknown."""

    file: WorldFile
    round_trips_ms: Milliseconds

    @cached_property
    def place_numbers(self) -> dict[str, int]:
        return {place.name: number for number, place in enumerate(self.file.places)}

    def round_trip_ms(self, here: tuple[str, ...], there: tuple[str, ...]) -> float:
        """Between the two places of both lists that are nearest to each other."""
        numbers = self.place_numbers
        return min(float(self.round_trips_ms[numbers[a], numbers[b]]) for a in here for b in there)

    def nearest_stand(self, place: str, site: BoxSite) -> Stand:
        """The stand that the name server returns to a client in that place."""
        return min(site.stands, key=lambda stand: self.round_trip_ms((place,), stand.places))

    def crawler_to_site_ms(self, crawler: BoxCrawler, site: BoxSite) -> float:
        """The true round trip, without faults: to the stand that the crawler is sent to."""
        return min(self.round_trip_ms((crawler.place,), stand.places) for stand in site.stands)
