"""A new unit whose best crawler is full -> the papers' two solutions (the later paper, III.F).

(a) `release`: the full crawler takes it and gives up one of its old ones, by a heuristic. (b)
`second-best`: the new unit goes to the next-best crawler that has room.

Invariant: no crawler becomes overfull, as long as any crawler has room.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from ipmicra.delegation.balancing.loads import Loads, UnitOwners
from ipmicra.delegation.balancing.moves import SingleMove, least_variance_move

WayOut: TypeAlias = Literal["release", "second-best"]


def owners_with_newcomer(
    loads: Loads, newcomer: int, way: WayOut, heuristic: SingleMove = least_variance_move
) -> UnitOwners:
    """The owners after the unit `newcomer` was taken in. Its owner in `loads` is its best crawler."""
    owner = loads.owner.copy()
    best = int(owner[newcomer])
    if best not in loads.overfull(owner):
        return owner
    if way == "second-best":
        owner[newcomer] = _second_best(loads, owner, newcomer)
        return owner
    while best in loads.overfull(owner):
        move = heuristic(loads, owner, best)
        if move is None:
            break
        owner[move.unit] = move.to
    return owner


def _second_best(loads: Loads, owner: UnitOwners, newcomer: int) -> int:
    costs = loads.costs_ms[newcomer].copy()
    without = loads.carried(owner)
    without[owner[newcomer]] -= loads.bytes_a_day[newcomer]
    has_room = without + loads.bytes_a_day[newcomer] <= loads.capacity_bytes_a_day
    costs[~has_room] = np.inf
    return int(np.argmin(costs)) if np.isfinite(costs).any() else int(owner[newcomer])
