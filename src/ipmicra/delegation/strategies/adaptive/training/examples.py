"""Vectors of round trips with the facts they belong to -> a memory of examples, in arrays.

An example states: a site with these facts has these round trips to the crawlers. `values_ms` holds them,
`doubts_ms` the possible error of each (0 where it was measured), for a similar site and for a twin,
`nearest` the crawler with the least. Rows are in order of kind: next to a crawler, in a town, past sites.

Invariant: bounded. Sites are a ring: when full, the newest replaces the oldest. Every entry is a finite
number, also when crawlers join or leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.strategies.adaptive.arrays import Floats, IntArray, Singles, Whole
from ipmicra.delegation.strategies.adaptive.facts import SiteFeatures, identities_of
from ipmicra.delegation.strategies.adaptive.training.groups import Groups

Number = TypeVar("Number", np.float32, np.int64, np.uint64)

FIRST_SITES = 64


class ExampleKind(IntEnum):
    """Where an example comes from. Each kind has its own spread."""

    SITE = 0  # measured in part, the rest believed
    CRAWLER = 1  # someone next door to a crawler
    PLACE = 2  # someone in a town, by distance
    TWIN = 3  # the same site as one of the same machine room: no shift, hardly a spread


IN_ORDER = (
    ExampleKind.CRAWLER,
    ExampleKind.PLACE,
    ExampleKind.SITE,
    ExampleKind.TWIN,
)  # of rows; twins follow their sites


class Fixed(NamedTuple):
    """The examples that are not sites: `doors` crawlers first, then towns."""

    doors: int
    facts: Sequence[SiteFeatures]
    masses: Sequence[float]
    values_ms: Floats
    doubts_ms: Floats


class Examples:
    """Facts and round trips, crawler by example; crawlers in the order they joined."""

    def __init__(self, crawlers: int, sites_max: int) -> None:
        self.sites_max = sites_max
        self.doors = self.fixed = self.sites = 0  # rows next door to crawlers, with the towns, of sites
        self.writes = 0  # counts changes of round trips: what was read before one may be no more
        self._next = 0
        self._fixed_mass = 0.0
        rows = min(FIRST_SITES, sites_max)
        self.values_ms: Singles = np.zeros((crawlers, rows), dtype=np.float32)
        self.doubts_ms: Singles = np.zeros((crawlers, 2, rows), dtype=np.float32)
        self.masses: Singles = np.ones(rows, dtype=np.float32)
        self.nearest: Whole = np.zeros(rows, dtype=np.int64)
        self.keys: IntArray = np.zeros(rows, dtype=np.uint64)
        self.numbers: Whole = np.arange(rows)  # of rows and of places in the ring
        # Examples by shared facts: rows of the fixed ones, places in the ring of sites.
        self.by_door, self.by_town, self.by_site = Groups(), Groups(), Groups()
        self._identities: list[tuple[int, ...]] = []  # of sites, by their places

    @property
    def count(self) -> int:
        return self.fixed + self.sites

    @property
    def mass(self) -> float:
        """Of all; a site's is 1."""
        return self._fixed_mass + self.sites

    @property
    def crawlers(self) -> int:
        return len(self.values_ms)

    # --- rows -----------------------------------------------------------------

    def set_fixed(self, fixed: Fixed) -> None:
        """The rows that are not sites, again."""
        self._move(len(fixed.facts), len(self.masses) - self.fixed)
        self.doors = fixed.doors
        self.values_ms[:, : self.fixed] = fixed.values_ms.T
        self.writes += 1
        self.doubts_ms[:, :, : self.fixed] = fixed.doubts_ms.T[:, None]
        self.masses[: self.fixed], self._fixed_mass = fixed.masses, sum(fixed.masses)
        self.by_door, self.by_town = Groups(), Groups()
        for row, facts in enumerate(fixed.facts):
            self.keys[row] = facts.key
            (self.by_door if row < self.doors else self.by_town).add(row, identities_of(facts))
        self._find_nearest()

    def add(self, facts: SiteFeatures, values_ms: Singles | Floats, doubts_ms: Singles | Floats) -> int:
        """One more site; its doubts are crawler by use. Returns its place in the ring."""
        place = self._next
        if self.fixed + place == len(self.masses):
            self._move(self.fixed, min(2 * place, self.sites_max))
        self._next = (place + 1) % self.sites_max
        self.sites = max(self.sites, place + 1)
        self._enter(place, facts)
        self.write(place, values_ms, doubts_ms)
        return place

    def write(self, place: int, values_ms: Singles | Floats, doubts_ms: Singles | Floats) -> None:
        """A site's round trips."""
        row = self.fixed + place
        self.values_ms[:, row], self.doubts_ms[:, :, row] = values_ms, doubts_ms
        self.writes += 1
        self.nearest[row] = self.values_ms[:, row].argmin() if self.crawlers else 0

    def correct(self, place: int, column: int, round_trip_ms: float) -> None:
        """One of a site's round trips was measured."""
        row = self.fixed + place
        self.values_ms[column, row], self.doubts_ms[column, :, row] = round_trip_ms, 0.0
        self.writes += 1
        self.nearest[row] = self.values_ms[:, row].argmin()

    def apply_answer(
        self, rows: Whole, column: int, answer_ms: float, sure: Floats, off_ms: float
    ) -> None:
        """Apply one crawler's answer for a site that is, with the probability `sure`, co-located with
        these and `off_ms` from them. Entries that are already as exact are not changed.
        """
        unsure = self.doubts_ms[column, 1, rows] > off_ms
        rows, sure = rows[unsure], sure[unsure]
        before, doubts = self.values_ms[column, rows], self.doubts_ms[column][:, rows]
        after = before + sure * (answer_ms - before)
        variance = (1.0 - sure) * (doubts**2 + (before - after) ** 2)
        variance += sure * (off_ms**2 + (answer_ms - after) ** 2)
        self.values_ms[column, rows], self.doubts_ms[column][:, rows] = after, np.sqrt(variance)
        self.nearest[rows] = self.values_ms[:, rows].argmin(axis=0)
        self.writes += 1

    def age(self, place: int) -> int:
        """How many sites were written after this one, counting round the ring."""
        return (self._next - 1 - place) % self.sites_max

    def _enter(self, place: int, facts: SiteFeatures) -> None:
        """Enter an example under its facts, in place of the former one."""
        identities = identities_of(facts)
        if place < len(self._identities):
            self.by_site.drop_oldest(self._identities[place])
            self._identities[place] = identities
        else:
            self._identities.append(identities)
        self.by_site.add(place, identities)
        self.keys[self.fixed + place] = facts.key

    def _move(self, fixed: int, sites: int) -> None:
        """Room for more rows; those in use keep what they have."""
        here, there = slice(self.fixed, self.count), slice(fixed, fixed + self.sites)
        rows, first = fixed + sites, slice(min(fixed, self.fixed))

        def moved(old: NDArray[Number]) -> NDArray[Number]:
            new = np.ones((*old.shape[:-1], rows), dtype=old.dtype)
            new[..., first] = old[..., first]
            new[..., there] = old[..., here]
            return new

        self.values_ms, self.doubts_ms = moved(self.values_ms), moved(self.doubts_ms)
        self.masses, self.nearest = moved(self.masses), moved(self.nearest)
        self.keys, self.numbers = moved(self.keys), np.arange(rows)
        self.fixed = fixed

    # --- columns --------------------------------------------------------------

    def add_column(self, values_ms: Floats, doubts_ms: Floats) -> None:
        """A crawler joined; this is what each site is believed to be to it. Towns wait to be set."""
        blank = np.ones((1, 2, len(self.masses)), dtype=np.float32)
        self.values_ms = np.concatenate([self.values_ms, blank[:, 0]])
        self.doubts_ms = np.concatenate([self.doubts_ms, blank])
        self.values_ms[-1, self.fixed : self.count] = values_ms
        self.doubts_ms[-1, :, self.fixed : self.count] = doubts_ms
        self._find_nearest()

    def drop_column(self, column: int) -> None:
        self.values_ms = np.delete(self.values_ms, column, axis=0)
        self.doubts_ms = np.delete(self.doubts_ms, column, axis=0)
        self._find_nearest()

    def of_sites(self) -> tuple[Singles, Singles]:
        """Values, site by crawler, and doubts, site by use by crawler, by their places in the ring."""
        sites = slice(self.fixed, self.count)
        return self.values_ms[:, sites].T, self.doubts_ms[:, :, sites].T

    def _find_nearest(self) -> None:
        if self.crawlers:
            self.nearest[: self.count] = self.values_ms[:, : self.count].argmin(axis=0)
