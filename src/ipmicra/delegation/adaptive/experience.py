"""Crawlers, towns and past sites -> all the examples there are, in two blocks.

The *fixed* block: every crawler (somebody next door to it has its round trips to the others), then every
town of the table, by distance. The *sites* block: what past sites were found to be. The fixed block is
built anew when crawlers came or went, or when enough of their round trips are newly known.

Law: both blocks have the crawlers' columns, in the order they joined, at every moment.
"""

from __future__ import annotations

import numpy as np

from ipmicra.addresses import IPAddress
from ipmicra.delegation.adaptive.arrays import Floats, Whole
from ipmicra.delegation.adaptive.city_points import Place, places_by_country
from ipmicra.delegation.adaptive.examples import Examples, Kind
from ipmicra.delegation.adaptive.facts import UNKNOWN, Facts, country_number, facts_of
from ipmicra.delegation.adaptive.geography import (
    LIGHT_MS_PER_KM,
    DistanceModel,
    distances_km,
    fitted,
    unit_vectors,
)
from ipmicra.delegation.adaptive.mutual import UNMEASURED_MS, Mutual, filled, middle_ms, spacing_ms
from ipmicra.delegation.adaptive.price import price_factor
from ipmicra.delegation.adaptive.settings import AdaptiveSettings
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.probes import CrawlerId
from ipmicra.delegation.subnets import Subnets

NEXT_DOOR_MS = 1.0  # a round trip within a town: 100 km of fibre, or a few switches
COUNTRY_MASS = 2.0  # the towns of a country together weigh as much as so many sites seen in it
NEAR_KM = 700.0  # a network registered in one country and standing in another stands near by, mostly
GROWN_SHARE = 0.1  # the fixed block is built anew when so much more of the mutual round trips is known

PLACES: tuple[Place, ...] = tuple(place for places in places_by_country().values() for place in places)
POINTS = unit_vectors(
    np.array([place.latitude for place in PLACES]), np.array([place.longitude for place in PLACES])
)


class Experience:
    """The examples, kept in step with who is there."""

    def __init__(self, tree: Subnets, settings: AdaptiveSettings) -> None:
        self.mutual = Mutual()
        self.sites = Examples(0, settings.sites_max)
        self.fixed = Examples(0, 1)
        self.model = DistanceModel()
        self.wrong_ms = UNMEASURED_MS / 2  # what a wrong crawler costs: half of what is between two
        self.price_factor = 1.0  # of the price of a probe, by how far apart neighbours are
        self.row_of: dict[IPAddress, int] = {}
        self._address_at: dict[int, IPAddress] = {}
        self._tree = tree
        self._settings = settings
        self._light_ms: Floats = np.zeros((0, 0))
        self._built_at_pairs = -1
        self.version = 0  # counts who came and went: columns mean the same while it stands still
        self._near: dict[int, Floats] = {}

    # --- who is there ---------------------------------------------------------

    def join(self, profile: CrawlerProfile) -> None:
        if self.mutual.join(profile):
            unknown = np.full((self.sites.count, 1), np.nan)
            rows = np.concatenate([self.sites.values_ms[: self.sites.count], unknown], axis=1)
            values, doubts = filled(rows, self.mutual.round_trips_ms)
            self.sites.add_column(values[:, -1], doubts[:, -1])
            self.version += 1
        self._built_at_pairs = -1

    def leave(self, crawler: CrawlerId) -> None:
        if (column := self.mutual.leave(crawler)) is not None:
            self.sites.drop_column(column)
            self.version += 1
            self._built_at_pairs = -1

    def measure(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        self.mutual.measure(one, other, round_trip_ms)

    # --- the examples ---------------------------------------------------------

    def ready(self) -> None:
        """Build the fixed block if it has aged."""
        if self._built_at_pairs < 0 or self.mutual.known_pairs > self._built_at_pairs * (
            1 + GROWN_SHARE
        ):
            self._build()

    def blocks(self) -> list[Examples]:
        return [self.fixed, self.sites]

    def gathered(self, rows: Whole) -> tuple[Floats, Floats, Whole]:
        """Values, doubts and kinds of rows counted through both blocks."""
        cut = int(np.searchsorted(rows, self.fixed.count))
        ours, theirs = rows[:cut], rows[cut:] - self.fixed.count
        return (
            np.concatenate([self.fixed.values_ms[ours], self.sites.values_ms[theirs]]),
            np.concatenate([self.fixed.doubts_ms[ours], self.sites.doubts_ms[theirs]]),
            np.concatenate([self.fixed.kinds[ours], self.sites.kinds[theirs]]),
        )

    def rows_of(self, column: int) -> tuple[Floats, Floats]:
        """A crawler's round trips to the others, and the least that light allows."""
        return self.mutual.round_trips_ms[column], self._light_ms[column]

    def near(self, country: int) -> Floats | None:
        """How the fixed block shares out what is near a country: less with the distance from it."""
        if self.fixed.count == len(self.mutual) or country == UNKNOWN:
            return None
        if country not in self._near:
            self._near[country] = self._spread_around(country)
        return self._near[country]

    def remember(self, address: IPAddress, facts: Facts, values_ms: Floats, doubts_ms: Floats) -> None:
        """A site was found; it is an example from now on."""
        if (row := self.row_of.get(address)) is not None:
            self.sites.values_ms[row], self.sites.doubts_ms[row] = values_ms, doubts_ms
            return
        row = self.sites.add(facts, values_ms, doubts_ms, Kind.SITE, 1.0)
        if (before := self._address_at.get(row)) is not None:
            del self.row_of[before]
        self.row_of[address], self._address_at[row] = row, address

    def remembered(self) -> list[tuple[IPAddress, int]]:
        """Addresses and their rows, the oldest first."""
        return sorted(self.row_of.items(), key=lambda item: self.sites.age(item[1]), reverse=True)

    def correct(self, address: IPAddress, crawler: CrawlerId, round_trip_ms: float) -> None:
        """A later measurement of a remembered site."""
        row, column = self.row_of.get(address), self.mutual.column.get(crawler)
        if row is not None and column is not None:
            self.sites.values_ms[row, column], self.sites.doubts_ms[row, column] = round_trip_ms, 0.0

    # --- building -------------------------------------------------------------

    def _build(self) -> None:
        crawlers = len(self.mutual)
        self._built_at_pairs = self.mutual.known_pairs
        self._near.clear()
        self.wrong_ms = middle_ms(self.mutual.round_trips_ms) / 2
        self.price_factor = price_factor(spacing_ms(self.mutual.round_trips_ms))
        positions = self.mutual.positions()
        points = unit_vectors(positions[:, 0], positions[:, 1])
        between_km = distances_km(points, points)
        self._light_ms = np.nan_to_num(between_km * LIGHT_MS_PER_KM)
        upper = np.triu_indices(crawlers, 1)
        self.model = fitted(between_km[upper], self.mutual.round_trips_ms[upper])
        placed = self._settings.places and bool(np.isfinite(points).any())
        self.fixed = Examples(crawlers, max(1, crawlers + len(PLACES) * placed))
        self._add_crawlers(between_km)
        if placed:
            self._add_places(distances_km(POINTS, points))

    def _add_crawlers(self, between_km: Floats) -> None:
        mutual = self.mutual.round_trips_ms
        guessed = np.where(np.isnan(mutual), self.model.round_trip_ms(between_km), mutual)
        values, doubts = filled(guessed, mutual)
        doubts = np.where(np.isnan(mutual), np.maximum(doubts, values / 2), doubts)
        np.fill_diagonal(values, NEXT_DOOR_MS)
        for number, profile in enumerate(self.mutual.profiles):
            facts = self._facts_of(profile)
            self.fixed.add(facts, values[number], doubts[number], Kind.CRAWLER, 1.0)

    def _facts_of(self, profile: CrawlerProfile) -> Facts:
        facts = Facts() if profile.address is None else facts_of(profile.address, self._tree)
        return facts._replace(country=country_number(profile.country)) if profile.country else facts

    def _add_places(self, distance_km: Floats) -> None:
        values, doubts = filled(self.model.round_trip_ms(distance_km), self.mutual.round_trips_ms)
        row = 0
        for places in places_by_country().values():
            ranks = 1.0 / np.arange(1, len(places) + 1)  # the largest towns first, by Zipf's law
            masses = COUNTRY_MASS * ranks / ranks.sum()
            for place, mass in zip(places, masses, strict=True):
                facts = Facts(country=country_number(place.country))
                self.fixed.add(facts, values[row], doubts[row], Kind.PLACE, float(mass))
                row += 1

    def _spread_around(self, country: int) -> Floats:
        crawlers = len(self.mutual)
        shares = np.zeros(self.fixed.count)
        own = np.flatnonzero(self.fixed.countries[crawlers:] == country)
        if len(own):
            distance = distances_km(POINTS, POINTS[own]).min(axis=1)
            shares[crawlers:] = self.fixed.masses[crawlers : self.fixed.count] * np.exp(
                -distance / NEAR_KM
            )
        return shares
