"""The balancing policies by name, behind one interface.

    assignment = yield from POLICIES["assign-and-probe"](loads)

A policy is a generator, as a strategy is: it yields the probes it wants, is sent round trips, and returns
the owners. The papers' policies send no probes and use what was measured while delegating.

Invariant: a policy sees `Loads` and the answers to its probes, never the true round trips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from ipmicra.delegation.balancing.assignment_lp import cheapest_owners, exhaustive_owners, prices_ms
from ipmicra.delegation.balancing.estimates import FloatArray
from ipmicra.delegation.balancing.loads import Loads, RoundTripQuery, UnitAssignment, result
from ipmicra.delegation.balancing.moves import (
    SingleMove,
    best_move,
    least_variance_move,
    next_best_move,
)

Balancing: TypeAlias = Generator[RoundTripQuery, float | None, UnitAssignment]
Policy: TypeAlias = Callable[[Loads], Balancing]

ROUNDS = 8  # of solving and probing for each probe a unit; more: better questions, one solution each
GAIN_MS_MIN = 0.05  # a question that promises less is not asked
PROBES_PER_UNIT = 1.0  # what `assign-and-probe` may ask, on average


def variance(loads: Loads) -> Balancing:
    """The papers' choice: release the unit with the least variance of its round trips."""
    yield from ()
    return _one_by_one(loads, least_variance_move)


def next_best(loads: Loads) -> Balancing:
    """Release the unit that loses least at its next-best crawler."""
    yield from ()
    return _one_by_one(loads, next_best_move)


def exhaustive(loads: Loads) -> Balancing:
    """All combinations, for small cases; move by move where they are too many."""
    yield from ()
    owner = exhaustive_owners(loads.costs_ms, loads)
    return _one_by_one(loads, best_move) if owner is None else result(loads, owner)


def assignment(loads: Loads) -> Balancing:
    """The cheapest assignment by what is known and believed. With all measured, the optimum."""
    yield from ()
    return result(loads, cheapest_owners(loads.costs_ms, loads))


def assign_and_probe(loads: Loads, probes_per_unit: float = PROBES_PER_UNIT) -> Balancing:
    """Assign by measurements and estimates, probe what could change the solution most, and repeat.

    The solution sets a price on room at every crawler. For each unit the most promising probe is sent, by
    cost plus price: it may show that the chosen crawler is worse than estimated, or another one better.
    Answers also change the estimates of other pairs, if the estimator learns from them.
    """
    budget = int(probes_per_unit * len(loads.owner))
    asked = 0
    for rounds_left in range(math.ceil(ROUNDS * probes_per_unit), 0, -1):
        questions = _worth_asking(loads)[: -((asked - budget) // rounds_left)]
        if not questions:
            break
        answers: dict[RoundTripQuery, float | None] = {}
        for question in questions:
            answers[question] = yield question
        loads = loads.learnt(answers)
        asked += len(answers)
    return result(loads, cheapest_owners(loads.costs_ms, loads), asked)


POLICIES: dict[str, Policy] = {
    "variance": variance,
    "next-best": next_best,
    "exhaustive": exhaustive,
    "assignment": assignment,
    "assign-and-probe": assign_and_probe,
}


def _worth_asking(loads: Loads) -> list[RoundTripQuery]:
    """For each unit the question that promises most, the greatest promise first."""
    if not len(loads.owner):
        return []
    costs, spread = loads.believed
    priced = costs + prices_ms(costs, loads)
    rows, best = np.arange(len(priced)), priced.argmin(axis=1)
    least = priced[rows, best]
    others = priced.copy()
    others[rows, best] = np.inf
    gap = priced - least[:, None]  # another crawler must come out this much better than believed,
    gap[rows, best] = others.min(axis=1) - least  # the chosen one this much worse
    promise = _expected_beyond(gap, spread)
    asks = promise.argmax(axis=1)
    order = np.argsort(-promise[rows, asks], kind="stable")
    return [
        RoundTripQuery(int(unit), int(asks[unit]))
        for unit in order
        if promise[unit, asks[unit]] > GAIN_MS_MIN
    ]


def _expected_beyond(gap: FloatArray, spread: FloatArray) -> FloatArray:
    """The mean of what a normal deviation with this spread exceeds the gap by."""
    safe = np.maximum(spread, 1e-9)
    z = np.minimum(gap / safe, 40.0)
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.where(spread > 0, safe * (density - z * ndtr(-z)), 0.0)


def _one_by_one(loads: Loads, move: SingleMove) -> UnitAssignment:
    """Relieve the fullest crawler move by move until no crawler is overfull or nothing can be moved."""
    owner = loads.owner.copy()
    stuck: set[int] = set()
    while waiting := [crawler for crawler in loads.overfull(owner) if crawler not in stuck]:
        chosen = move(loads, owner, waiting[0])
        if chosen is None:
            stuck.add(waiting[0])
        else:
            owner[chosen.unit] = chosen.to
    return result(loads, owner)
