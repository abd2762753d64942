"""Round trips from candidate locations to sites -> locations for the next crawlers, what each would save, and
how many are enough (the k-median problem; IPMicra paper, 4.5: "the optimal number").

Greedy: each next crawler where it saves most. Then swaps: while exchanging one chosen location for another
lowers the mean, do it. Existing crawlers stay where they are.

Invariant: the objective is the mean round trip from each site to its nearest crawler, weighted per site.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.float64]

SWAPS_MAX = 1000  # each lowers the mean, so they end; this only bounds the work
IMPROVEMENT_SHARE_MIN = 1e-6  # of the mean: a swap below this is rounding


@dataclass(frozen=True)
class Placement:
    """Chosen locations in the order of addition, and the mean round trip after each."""

    places: tuple[int, ...]
    mean_ms: tuple[float, ...]

    def saved_ms(self, before_ms: float) -> tuple[float, ...]:
        """The reduction of the mean by each added location, in order."""
        return tuple(a - b for a, b in zip((before_ms, *self.mean_ms), self.mean_ms, strict=False))


def mean_nearest_ms(
    round_trips_ms: Numbers, places: tuple[int, ...], weights: Numbers | None = None
) -> float:
    """The mean round trip from the sites to the nearest of these locations, by the known round trips."""
    known = np.where(np.isfinite(round_trips_ms), round_trips_ms, np.inf)[list(places)].min(axis=0)
    reached = np.isfinite(known)
    return float(np.average(known[reached], weights=None if weights is None else weights[reached]))


def best_places(
    round_trips_ms: Numbers, count: int, standing: tuple[int, ...] = (), weights: Numbers | None = None
) -> Placement:
    """`count` further locations among the candidates (rows), for the sites (columns). NaN: unknown, taken as
    far as the farthest known candidate of that site."""
    table = _filled(round_trips_ms)
    shares = _shares(table.shape[1], weights)
    chosen = _greedy(table, shares, count, standing)
    chosen = _swapped(table, shares, chosen, standing)
    chosen = _by_saving(table, shares, chosen, standing)
    means = tuple(
        float(table[[*standing, *chosen[: turn + 1]]].min(axis=0) @ shares)
        for turn in range(len(chosen))
    )
    return Placement(tuple(chosen), means)


def enough(
    round_trips_ms: Numbers,
    count_max: int,
    saving_share_min: float = 0.02,
    standing: tuple[int, ...] = (),
    weights: Numbers | None = None,
) -> Placement:
    """Greedy locations up to the last that still saves `saving_share_min` of the mean before it."""
    table = _filled(round_trips_ms)
    shares = _shares(table.shape[1], weights)
    chosen = _greedy(table, shares, count_max, standing)
    means: list[float] = []
    before_ms = float(table[list(standing)].min(axis=0) @ shares) if standing else np.inf
    for turn in range(len(chosen)):
        mean_ms = float(table[[*standing, *chosen[: turn + 1]]].min(axis=0) @ shares)
        if before_ms - mean_ms < saving_share_min * before_ms:
            break
        means.append(mean_ms)
        before_ms = mean_ms
    return Placement(tuple(chosen[: len(means)]), tuple(means))


def _greedy(table: Numbers, shares: Numbers, count: int, standing: tuple[int, ...]) -> list[int]:
    nearest = table[list(standing)].min(axis=0) if standing else np.full(table.shape[1], np.inf)
    chosen: list[int] = []
    for _ in range(min(count, len(table) - len(standing))):
        totals = np.minimum(table, nearest) @ shares
        totals[[*standing, *chosen]] = np.inf
        chosen.append(int(totals.argmin()))
        nearest = np.minimum(nearest, table[chosen[-1]])
    return chosen


def _swapped(table: Numbers, shares: Numbers, chosen: list[int], standing: tuple[int, ...]) -> list[int]:
    """Exchange one chosen for one other while the mean falls; the best exchange each time."""
    chosen = list(chosen)
    for _ in range(SWAPS_MAX):
        places = [*standing, *chosen]
        changes = _changes(table, shares, places, len(standing))
        changes[:, places] = np.inf
        if changes.size == 0:
            break
        out, into = np.unravel_index(int(changes.argmin()), changes.shape)
        mean_ms = float(table[places].min(axis=0) @ shares)
        if changes[out, into] > -IMPROVEMENT_SHARE_MIN * mean_ms:
            break
        chosen[int(out)] = int(into)
    return chosen


def _changes(table: Numbers, shares: Numbers, places: list[int], standing: int) -> Numbers:
    """How the mean changes when each chosen location (row) is exchanged for each candidate (column)."""
    held = table[places]
    first = held.argmin(axis=0)
    nearest = held.min(axis=0)
    held[first, np.arange(held.shape[1])] = np.inf
    second = held.min(axis=0)
    added = np.minimum(table - nearest, 0.0)
    total_added = added @ shares
    changes = np.empty((len(places) - standing, len(table)))
    for row in range(len(changes)):
        lost = np.flatnonzero(first == row + standing)
        without = np.minimum(table[:, lost], second[lost]) - nearest[lost]
        changes[row] = total_added + (without - added[:, lost]) @ shares[lost]
    return changes


def _by_saving(
    table: Numbers, shares: Numbers, chosen: list[int], standing: tuple[int, ...]
) -> list[int]:
    """The same locations in the order of their savings."""
    order = _greedy(table[[*standing, *chosen]], shares, len(chosen), tuple(range(len(standing))))
    return [chosen[place - len(standing)] for place in order]


def _shares(sites: int, weights: Numbers | None) -> Numbers:
    given = np.ones(sites) if weights is None else np.asarray(weights, dtype=np.float64)
    shares: Numbers = given / given.sum()
    return shares


def _filled(round_trips_ms: Numbers) -> Numbers:
    known = np.isfinite(round_trips_ms)
    farthest = np.where(known, round_trips_ms, 0.0).max(axis=0)
    return np.where(known, round_trips_ms, farthest)
