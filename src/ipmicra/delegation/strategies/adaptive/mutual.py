"""Crawlers and their round trips to each other -> one matrix, with columns in the order they joined.

Invariant: every crawler has a column, awake or not; an unmeasured pair is NaN; the distance to itself is
0. Changes are counted, so that users of the matrix know when to build their data again.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.strategies.adaptive.arrays import Floats
from ipmicra.delegation.strategies.adaptive.geography.city_points import places_by_country
from ipmicra.model.ids import CrawlerId

UNMEASURED_MS = 100.0  # about the mean round trip between two places on Earth


class Mutual:
    """Round trips among crawlers, and where they stand."""

    def __init__(self) -> None:
        self.profiles: list[CrawlerProfile] = []
        self.column: dict[CrawlerId, int] = {}
        self.names: tuple[CrawlerId, ...] = ()
        self.round_trips_ms: Floats = np.zeros((0, 0))
        self.known_pairs = 0

    def __len__(self) -> int:
        return len(self.profiles)

    def join(self, profile: CrawlerProfile) -> bool:
        """True where it is new; news of a known one takes its place."""
        if (column := self.column.get(profile.id)) is not None:
            self.profiles[column] = profile
            return False
        self.column[profile.id] = len(self.profiles)
        self.names += (profile.id,)
        self.profiles.append(profile)
        wider = np.full((len(self), len(self)), np.nan)
        wider[:-1, :-1] = self.round_trips_ms
        wider[-1, -1] = 0.0
        self.round_trips_ms = wider
        return True

    def leave(self, crawler: CrawlerId) -> int | None:
        """Remove the column of a crawler that has left."""
        column = self.column.pop(crawler, None)
        if column is not None:
            del self.profiles[column]
            self.names = tuple(profile.id for profile in self.profiles)
            self.column = {name: number for number, name in enumerate(self.names)}
            kept = np.delete(self.round_trips_ms, column, axis=0)
            self.round_trips_ms = np.delete(kept, column, axis=1)
            self.known_pairs = int(np.isfinite(self.round_trips_ms).sum() - len(self)) // 2
        return column

    def measure(self, one: CrawlerId, other: CrawlerId, round_trip_ms: float) -> None:
        here, there = self.column.get(one), self.column.get(other)
        if here is not None and there is not None and here != there:
            self.known_pairs += bool(np.isnan(self.round_trips_ms[here, there]))
            self.round_trips_ms[here, there] = self.round_trips_ms[there, here] = round_trip_ms

    def positions(self) -> Floats:
        """Latitude and longitude, one crawler a row: its own, its country's first place, or NaN."""
        return np.array([_position(profile) for profile in self.profiles]).reshape(-1, 2)


def _position(profile: CrawlerProfile) -> tuple[float, float]:
    if profile.position is not None:
        return profile.position.latitude, profile.position.longitude
    places = places_by_country().get(profile.country or "")
    return (places[0].latitude, places[0].longitude) if places else (np.nan, np.nan)


def filled(values: Floats, mutual_ms: Floats) -> tuple[Floats, Floats]:
    """Rows of round trips with holes -> the rows without, and the doubt of each entry.

    A site that is `near` to one crawler has about that crawler's round trips to the others, plus or minus
    its own round trip to it. Without such a hint a hole is the median of all known values.
    """
    holes = np.isnan(values)
    if not holes.any():
        return values, np.zeros_like(values)
    middle = middle_ms(mutual_ms)
    reach = np.where(holes, np.inf, values)
    nearest = np.argmin(reach, axis=1)
    near_ms = reach[np.arange(len(values)), nearest]
    guess = np.where(np.isfinite(near_ms)[:, None], mutual_ms[nearest], np.nan)
    hinted = np.isfinite(guess)
    guess = np.where(hinted, guess, middle)
    doubt = np.where(hinted, np.minimum(near_ms, middle)[:, None], middle)
    return np.where(holes, guess, values), np.where(holes, doubt, 0.0)


def middle_ms(mutual_ms: Floats) -> float:
    """The median of what crawlers measured among themselves."""
    known = mutual_ms[np.isfinite(mutual_ms) & (mutual_ms > 0)]
    return float(np.median(known)) if len(known) else UNMEASURED_MS


def spacing_ms(mutual_ms: Floats) -> float | None:
    """How far a crawler's nearest neighbour is, in the middle; None where nothing is measured."""
    others = np.where(np.isfinite(mutual_ms) & (mutual_ms > 0), mutual_ms, np.inf)
    nearest = others.min(axis=1, initial=np.inf)
    known = nearest[np.isfinite(nearest)]
    return float(np.median(known)) if len(known) else None
