"""Costs and capacities -> the assignment of least total cost (III.F: "linear programming", and "testing
all the possible combinations" for small cases).

Every unit goes to one crawler, no crawler takes more than its capacity: solved as an integer programme
by HiGHS, exactly where all units weigh the same, else within `GAP`. Where there is more to carry than
all can carry, the least overload comes first and the least cost second.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from ipmicra.delegation.balancing.estimates import FloatArray
from ipmicra.delegation.balancing.loads import Loads, UnitOwners
from ipmicra.errors import OurFault

GAP = 1e-4  # of the optimum; smaller takes much longer where units weigh differently
COMBINATIONS_MAX = 2_000_000  # exhaustive search refuses more


def cheapest_owners(costs_ms: FloatArray, loads: Loads) -> UnitOwners:
    """The owners of least total cost within the capacities."""
    units, crawlers = costs_ms.shape
    if units == 0:
        return loads.owner.copy()
    programme = _Programme(costs_ms, loads)
    answer = milp(
        programme.costs,
        integrality=np.repeat((1, 0), (units * crawlers, crawlers)),
        bounds=Bounds(0.0, programme.most),
        constraints=[
            LinearConstraint(programme.once, 1.0, 1.0),
            LinearConstraint(programme.carried, -np.inf, programme.capacity),
        ],
        options={"mip_rel_gap": GAP},
    )
    if answer.x is None:
        raise OurFault(f"balancing {units} units over {crawlers} crawlers: {answer.message}")
    chosen = np.asarray(answer.x[: units * crawlers]).reshape(units, crawlers)
    return np.asarray(chosen.argmax(axis=1), dtype=np.int64)


def prices_ms(costs_ms: FloatArray, loads: Loads) -> FloatArray:
    """The price of room at each crawler: unit by crawler, the milliseconds that the unit's weight takes
    from others there. Each unit's cheapest crawler is the one with the least cost plus price.
    """
    programme = _Programme(costs_ms, loads)
    answer = linprog(  # type: ignore[call-overload]  # the stubs know no sparse matrices
        programme.costs,
        A_ub=programme.carried,
        b_ub=programme.capacity,
        A_eq=programme.once,
        b_eq=np.ones(len(costs_ms)),
        bounds=np.column_stack((np.zeros_like(programme.most), programme.most)),
        method="highs",
    )
    if answer.x is None:
        raise OurFault(f"pricing {costs_ms.shape[0]} units: {answer.message}")
    return np.outer(programme.weights, -np.asarray(answer.ineqlin.marginals))


class _Programme:
    """Variables: a yes or no for each unit and crawler, row by row, then each crawler's overload."""

    def __init__(self, costs_ms: FloatArray, loads: Loads) -> None:
        units, crawlers = costs_ms.shape
        beyond = 10.0 * float(costs_ms[np.isfinite(costs_ms)].max(initial=1.0))
        finite = np.where(np.isfinite(costs_ms), costs_ms, beyond)
        unit = max(float(loads.bytes_a_day.mean()), 1e-12)  # a mean unit: numbers near 1 solve well
        self.weights = loads.bytes_a_day / unit
        self.capacity = np.minimum(loads.capacity_bytes_a_day / unit, self.weights.sum() + 1.0)
        self.costs = np.concatenate((finite.ravel(), np.full(crawlers, 10.0 * beyond)))
        self.most = np.repeat((1.0, np.inf), (units * crawlers, crawlers))
        each = sparse.kron(sparse.eye_array(units), np.ones((1, crawlers)))
        self.once = sparse.csc_array(sparse.hstack((each, sparse.csr_array((units, crawlers)))))
        here = sparse.kron(self.weights[None, :], sparse.eye_array(crawlers))
        self.carried = sparse.csc_array(sparse.hstack((here, sparse.csr_array(-np.eye(crawlers)))))


def exhaustive_owners(costs_ms: FloatArray, loads: Loads) -> UnitOwners | None:
    """The same by trying all combinations, depth first, leaving a branch when it is expensive already.

    None where no combination keeps to the capacities, or where there are too many to try.
    """
    units, crawlers = costs_ms.shape
    if crawlers**units > COMBINATIONS_MAX:
        return None
    rest = np.concatenate((np.cumsum(costs_ms.min(axis=1)[::-1])[::-1], [0.0]))
    best_cost, best = np.inf, None
    stack: list[tuple[float, tuple[int, ...], tuple[float, ...]]] = [
        (0.0, (), tuple(loads.capacity_bytes_a_day.tolist()))
    ]
    while stack:
        cost, chosen, room = stack.pop()
        if cost + rest[len(chosen)] >= best_cost:
            continue
        if len(chosen) == units:
            best_cost, best = cost, chosen
            continue
        unit = len(chosen)
        for crawler in np.argsort(-costs_ms[unit], kind="stable").tolist():  # cheapest popped first
            left = room[crawler] - float(loads.bytes_a_day[unit])
            if left >= -1e-9 * float(loads.capacity_bytes_a_day[crawler]):
                taken = (*room[:crawler], left, *room[crawler + 1 :])
                stack.append((cost + float(costs_ms[unit, crawler]), (*chosen, crawler), taken))
    return None if best is None else np.array(best, dtype=np.int64)
