"""An overfull crawler -> the one unit it gives up, and its new crawler. The papers' heuristics, and the
optimum.

Invariant: one move at a time, only to a crawler that has room for it. `None` if no such move exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from ipmicra.delegation.balancing.estimates import FloatArray
from ipmicra.delegation.balancing.loads import Loads, UnitOwners


class ProposedMove(NamedTuple):
    unit: int
    to: int


SingleMove: TypeAlias = Callable[[Loads, UnitOwners, int], ProposedMove | None]


def least_variance_move(loads: Loads, owner: UnitOwners, overfull: int) -> ProposedMove | None:
    """The unit whose measured round trips vary least, to its next-best crawler (III.F).

    If the next-best has no room, the unit with the next variance is tried. A unit that only one
    crawler measured has no variance: it comes last, and is moved by its estimates.
    """
    held = np.flatnonzero(owner == overfull)
    room = _room(loads, owner)
    for unit in held[np.argsort(_variances(loads.known_ms[held]), kind="stable")]:
        to = _next_best(loads.known_ms[unit], overfull)
        if to is None:
            to = _next_best(loads.costs_ms[unit], overfull)
        if to is not None and loads.bytes_a_day[unit] <= room[to]:
            return ProposedMove(int(unit), to)
    return best_move(loads, owner, overfull)


def next_best_move(loads: Loads, owner: UnitOwners, overfull: int) -> ProposedMove | None:
    """The unit that loses least by going to its next-best crawler, by what was measured (III.F)."""
    held = np.flatnonzero(owner == overfull)
    room = _room(loads, owner)
    costs = np.where(np.isfinite(loads.known_ms), loads.known_ms, np.inf)[held]
    best = _cheapest(costs, costs[:, overfull], loads.bytes_a_day[held], room, overfull)
    if best is None:
        return best_move(loads, owner, overfull)
    return ProposedMove(int(held[best.unit]), best.to)


def best_move(loads: Loads, owner: UnitOwners, overfull: int) -> ProposedMove | None:
    """The move that raises the total least, by the best that is known of every pair."""
    held = np.flatnonzero(owner == overfull)
    costs = loads.costs_ms[held]
    room = _room(loads, owner)
    best = _cheapest(costs, costs[:, overfull], loads.bytes_a_day[held], room, overfull)
    return None if best is None else ProposedMove(int(held[best.unit]), best.to)


def _cheapest(
    costs: FloatArray, own: FloatArray, weights: FloatArray, room: FloatArray, owner: int
) -> ProposedMove | None:
    extra = costs - own[:, None]
    extra[weights[:, None] > room[None, :]] = np.inf
    extra[:, owner] = np.inf
    extra[~np.isfinite(extra)] = np.inf
    if extra.size == 0 or not np.isfinite(extra).any():
        return None
    unit, to = np.unravel_index(np.argmin(extra), extra.shape)
    return ProposedMove(int(unit), int(to))


def _variances(known_ms: FloatArray) -> FloatArray:
    counts = np.isfinite(known_ms).sum(axis=1)
    filled = np.where(np.isfinite(known_ms), known_ms, 0.0)
    means = filled.sum(axis=1) / np.maximum(counts, 1)
    squares = np.where(np.isfinite(known_ms), (known_ms - means[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(counts > 1, squares / np.maximum(counts, 1), np.inf)


def _next_best(round_trips_ms: FloatArray, owner: int) -> int | None:
    others = np.where(np.isfinite(round_trips_ms), round_trips_ms, np.inf)
    others[owner] = np.inf
    best = int(np.argmin(others))
    return best if np.isfinite(others[best]) else None


def _room(loads: Loads, owner: UnitOwners) -> FloatArray:
    room: FloatArray = loads.capacity_bytes_a_day - loads.carried(owner)
    return room
