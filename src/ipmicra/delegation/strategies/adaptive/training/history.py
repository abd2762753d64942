"""Crawlers, towns and past sites -> all the examples there are.

The *fixed* ones: every crawler (someone next door to it has its round trips to the others), then every
town of the table, by distance. After them, what past sites were found to be. The fixed ones are built
again when crawlers came or went, or when enough of their round trips are newly known.

Invariant: all examples have the crawlers' columns, in the order they joined, at every moment; the fixed ones
are to be used after `ready`.
"""

from __future__ import annotations

import numpy as np

from ipmicra.addresses import IPAddress
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.strategies.adaptive.arrays import Floats, Singles
from ipmicra.delegation.strategies.adaptive.facts import (
    UNKNOWN,
    SiteFeatures,
    country_number,
    facts_of,
)
from ipmicra.delegation.strategies.adaptive.geography.city_points import (
    CityPoint,
    places_by_country,
)
from ipmicra.delegation.strategies.adaptive.geography.distance_model import (
    LIGHT_MS_PER_KM,
    DistanceModel,
    distances_km,
    fitted,
    unit_vectors,
)
from ipmicra.delegation.strategies.adaptive.inference.bounds import bounding_row
from ipmicra.delegation.strategies.adaptive.mutual import (
    UNMEASURED_MS,
    Mutual,
    filled,
    middle_ms,
    spacing_ms,
)
from ipmicra.delegation.strategies.adaptive.price import price_factor
from ipmicra.delegation.strategies.adaptive.settings import AdaptiveSettings
from ipmicra.delegation.strategies.adaptive.training.examples import Examples, Fixed
from ipmicra.delegation.strategies.adaptive.training.sampling import Near
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.model.ids import CrawlerId

NEXT_DOOR_MS = 1.0  # a round trip within a town: 100 km of fibre, or a few switches
COUNTRY_MASS = 2.0  # the towns of a country together weigh as much as this number of sites seen in it
NEAR_KM = 700.0  # a network registered in one country and standing in another stands near by, mostly
GROWN_SHARE = (
    0.1  # growth of the known mutual round trips after which the fixed examples are built again
)

PLACES: tuple[CityPoint, ...] = tuple(
    place for places in places_by_country().values() for place in places
)
POINTS = unit_vectors(
    np.array([place.latitude for place in PLACES]), np.array([place.longitude for place in PLACES])
)


class ExampleHistory:
    """The examples, updated as crawlers join and leave."""

    def __init__(self, tree: SubnetLookup, settings: AdaptiveSettings) -> None:
        self.mutual = Mutual()
        self.examples = Examples(0, settings.sites_max)
        self.model = DistanceModel()
        self.wrong_ms = UNMEASURED_MS / 2  # what a wrong crawler costs: half of what is between two
        self.price_factor = 1.0  # of the price of a probe, by how far apart neighbours are
        self.measured_range: dict[IPAddress, int] = {}  # in the ring of sites
        self._address_at: dict[int, IPAddress] = {}
        self._tree = tree
        self._settings = settings
        self._light_ms: Floats = np.zeros((0, 0))
        self._built_at_pairs = -1
        self.version = (
            0  # counts joins and leaves: rows and columns keep their meaning while it does not change
        )
        self._near: dict[int, Near | None] = {}
        self._bounding_rows: dict[int, Singles] = {}

    # --- crawlers -------------------------------------------------------------

    def join(self, profile: CrawlerProfile) -> None:
        if self.mutual.join(profile):
            values = self.examples.of_sites()[0].astype(np.float64)
            rows = np.concatenate([values, np.full((len(values), 1), np.nan)], axis=1)
            values, doubts = filled(rows, self.mutual.round_trips_ms)
            self.examples.add_column(values[:, -1], doubts[:, -1])
            self.version += 1
        self._built_at_pairs = -1

    def leave(self, crawler: CrawlerId) -> None:
        if (column := self.mutual.leave(crawler)) is not None:
            self.examples.drop_column(column)
            self.version += 1
            self._built_at_pairs = -1

    def measure(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        self.mutual.measure(one, other, round_trip_ms)
        self._bounding_rows.clear()

    # --- the examples ---------------------------------------------------------

    @property
    def edition(self) -> tuple[int, int]:
        """Another one whenever a row or a column may mean something else."""
        return self.version, self.examples.writes

    def ready(self) -> None:
        """Build the fixed examples if they have aged."""
        if self._built_at_pairs < 0 or self.mutual.known_pairs > self._built_at_pairs * (
            1 + GROWN_SHARE
        ):
            self._build()

    def bounding_row(self, column: int) -> Singles:
        """The bounds that a crawler's answers put on the others, for `Bounds`."""
        if column not in self._bounding_rows:
            mutual_ms, light_ms = self.mutual.round_trips_ms[column], self._light_ms[column]
            self._bounding_rows[column] = bounding_row(mutual_ms, light_ms)
        return self._bounding_rows[column]

    def light_ms(self, one: int, other: int) -> float:
        """The time that light needs between two crawlers and back; 0 if their positions are unknown."""
        return float(self._light_ms[one, other])

    def near(self, country: int) -> Near | None:
        """How the fixed examples share out what is near a country: less with the distance from it."""
        if country not in self._near:
            self._near[country] = self._spread_around(country)
        return self._near[country]

    def remember(
        self,
        address: IPAddress,
        facts: SiteFeatures,
        values_ms: Singles | Floats,
        doubts_ms: Singles | Floats,
    ) -> None:
        """A site was found; it is an example from now on."""
        if (place := self.measured_range.get(address)) is not None:
            self.examples.write(place, values_ms, doubts_ms)
            return
        place = self.examples.add(facts, values_ms, doubts_ms)
        if (before := self._address_at.get(place)) is not None:
            del self.measured_range[before]
        self.measured_range[address], self._address_at[place] = place, address

    def remembered(self) -> list[tuple[IPAddress, int]]:
        """Addresses and their places in the ring, the oldest first."""
        return sorted(self.measured_range.items(), key=lambda item: -self.examples.age(item[1]))

    def correct(self, address: IPAddress, crawler: CrawlerId, round_trip_ms: float) -> None:
        """A later measurement of a remembered site."""
        place, column = self.measured_range.get(address), self.mutual.column.get(crawler)
        if place is not None and column is not None:
            self.examples.correct(place, column, round_trip_ms)

    # --- building -------------------------------------------------------------

    def _build(self) -> None:
        crawlers = len(self.mutual)
        self._built_at_pairs = self.mutual.known_pairs
        self._near.clear()
        self._bounding_rows.clear()
        self.wrong_ms = middle_ms(self.mutual.round_trips_ms) / 2
        self.price_factor = price_factor(spacing_ms(self.mutual.round_trips_ms))
        positions = self.mutual.positions()
        points = unit_vectors(positions[:, 0], positions[:, 1])
        between_km = distances_km(points, points)
        self._light_ms = np.nan_to_num(between_km * LIGHT_MS_PER_KM)
        upper = np.triu_indices(crawlers, 1)
        self.model = fitted(between_km[upper], self.mutual.round_trips_ms[upper])
        placed = self._settings.places and bool(np.isfinite(points).any())
        fixed = self._next_door(between_km)
        if placed:
            fixed = _with_places(fixed, *self._as_far_as(distances_km(POINTS, points)))
        self.version += len(fixed.facts) != self.examples.fixed
        self.examples.set_fixed(fixed)

    def _next_door(self, between_km: Floats) -> Fixed:
        """Every crawler's neighbour."""
        mutual = self.mutual.round_trips_ms
        guessed = np.where(np.isnan(mutual), self.model.round_trip_ms(between_km), mutual)
        values, doubts = filled(guessed, mutual)
        doubts = np.where(np.isnan(mutual), np.maximum(doubts, values / 2), doubts)
        np.fill_diagonal(values, NEXT_DOOR_MS)
        np.fill_diagonal(doubts, NEXT_DOOR_MS)  # not measured: a guess
        facts = [self._facts_of(profile) for profile in self.mutual.profiles]
        return Fixed(len(facts), facts, [1.0] * len(facts), values, doubts)

    def _facts_of(self, profile: CrawlerProfile) -> SiteFeatures:
        facts = SiteFeatures() if profile.address is None else facts_of(profile.address, self._tree)
        return facts._replace(country=country_number(profile.country)) if profile.country else facts

    def _as_far_as(self, distance_km: Floats) -> tuple[Floats, Floats]:
        return filled(self.model.round_trip_ms(distance_km), self.mutual.round_trips_ms)

    def _spread_around(self, country: int) -> Near | None:
        doors, fixed = self.examples.doors, self.examples.fixed
        own = self.examples.by_town.sharing(0, country) - doors
        if country == UNKNOWN or not len(own):
            return None
        distance = distances_km(POINTS, POINTS[own]).min(axis=1)
        shares = np.zeros(fixed, dtype=np.float32)
        shares[doors:] = self.examples.masses[doors:fixed] * np.exp(-distance / NEAR_KM)
        nearest_first = np.argsort(-shares, kind="stable")[: len(distance)]
        return Near(shares, float(shares.sum()), nearest_first)


def _with_places(crawlers: Fixed, values_ms: Floats, doubts_ms: Floats) -> Fixed:
    """The towns of every country after the crawlers."""
    facts, masses = list(crawlers.facts), list(crawlers.masses)
    for places in places_by_country().values():
        ranks = 1.0 / np.arange(1, len(places) + 1)  # the largest towns first, by Zipf's law
        masses += (COUNTRY_MASS * ranks / ranks.sum()).tolist()
        facts += [SiteFeatures(country=country_number(place.country)) for place in places]
    return Fixed(
        crawlers.doors,
        facts,
        masses,
        np.concatenate([crawlers.values_ms, values_ms]),
        np.concatenate([crawlers.doubts_ms, doubts_ms]),
    )
