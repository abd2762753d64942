"""One contract over all balancing policies, and what each is known for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.delegation.balancing import (
    POLICIES,
    Loads,
    RegionalEstimator,
    TriangleEstimator,
    UnitAssignment,
)
from ipmicra.delegation.balancing.admission import WayOut, owners_with_newcomer
from ipmicra.delegation.balancing.assignment_lp import cheapest_owners, exhaustive_owners
from ipmicra.delegation.balancing.estimates import FloatArray
from ipmicra.delegation.balancing.loads import RoundTripQuery
from ipmicra.delegation.balancing.moves import best_move, least_variance_move, next_best_move
from ipmicra.delegation.balancing.passes import ASKING_PASSES, passes_of
from ipmicra.delegation.balancing.policies import Policy
from ipmicra.delegation.driver import drive

every_policy = pytest.mark.parametrize("name", POLICIES)


def world(seed: int, units: int, crawlers: int) -> tuple[FloatArray, FloatArray]:
    """Points in a square of 200 ms: round trips unit by crawler, and crawler by crawler."""
    dice = np.random.default_rng(seed)
    there, here = dice.uniform(0, 200, (units, 2)), dice.uniform(0, 200, (crawlers, 2))

    def apart(left: FloatArray, right: FloatArray) -> FloatArray:
        spans: FloatArray = np.hypot(*(left[:, None] - right[None]).transpose(2, 0, 1)) + 2.0
        return spans

    mutual = apart(here, here)
    np.fill_diagonal(mutual, 0.0)
    return apart(there, here), mutual


def loads_in(
    seed: int, units: int = 60, crawlers: int = 5, room: float = 1.2, *, known_each: int | None = None
) -> tuple[Loads, FloatArray]:
    """Everything at its nearest crawler, weights of 1 to 3, capacity `room` times the fair share."""
    truth, mutual = world(seed, units, crawlers)
    weights = np.random.default_rng(seed + 1).integers(1, 4, units).astype(float)
    capacity = np.full(crawlers, room * weights.sum() / crawlers)
    known = truth.copy()
    if known_each is not None:
        ranks = truth.argsort(axis=1).argsort(axis=1)
        known[ranks >= known_each] = np.nan
    return Loads(known, RegionalEstimator(mutual), weights, capacity, truth.argmin(axis=1)), truth


def balanced(name: str, loads: Loads, truth: FloatArray) -> UnitAssignment:
    return driven(POLICIES[name], loads, truth)


def driven(
    policy: Policy,
    loads: Loads,
    truth: FloatArray,
    asked: dict[RoundTripQuery, float | None] | None = None,
) -> UnitAssignment:
    """`asked` takes down the questions and their answers."""
    taken_down = {} if asked is None else asked

    def answer(question: RoundTripQuery) -> float | None:
        assert question not in taken_down, "asked twice"
        assert np.isnan(loads.known_ms[question]), "asked though it was known"
        taken_down[question] = float(truth[question])
        return taken_down[question]

    done = drive(policy(loads), answer)
    assert done.probes == len(taken_down)
    return done


@every_policy
@given(seed=st.integers(0, 10**6), known_each=st.sampled_from([1, 2, 3, None]))
@settings(max_examples=15, deadline=None)
def test_afterwards_no_crawler_is_overloaded_and_every_unit_has_one_owner(
    name: str, seed: int, known_each: int | None
) -> None:
    loads, truth = loads_in(seed, units=30, crawlers=4, known_each=known_each)
    done = balanced(name, loads, truth)
    assert done.owner.shape == (30,)
    assert ((done.owner >= 0) & (done.owner < 4)).all()
    assert done.relieved
    assert loads.overfull(done.owner) == []
    assert done.probes <= 30


@every_policy
def test_where_nobody_is_overfull_and_all_is_measured_nothing_moves(name: str) -> None:
    loads, truth = loads_in(1, room=10.0)
    assert balanced(name, loads, truth).moves(loads) == []


@every_policy
def test_too_much_for_all_together_is_said_not_hidden(name: str) -> None:
    loads, truth = loads_in(1, units=8, crawlers=2, room=0.5)
    done = balanced(name, loads, truth)
    assert not done.relieved
    assert len(done.owner) == 8


@every_policy
def test_nothing_to_balance_is_balanced(name: str) -> None:
    nothing = np.empty((0, 2))
    loads = Loads(
        nothing,
        TriangleEstimator(np.array([[0.0, 9.0], [9.0, 0.0]])),
        np.empty(0),
        np.ones(2),
        np.empty(0, int),
    )
    assert balanced(name, loads, nothing).relieved


@pytest.mark.parametrize("seed", range(4))
def test_in_passes_no_more_is_asked_and_the_first_fetches_lower_the_cost(seed: int) -> None:
    loads, truth = loads_in(seed, units=80, known_each=2)
    at_once = balanced("assign-and-probe", loads, truth).total_ms(truth)
    probes, rows = 0, np.arange(80)
    for policy in passes_of("assign-and-probe"):
        answers: dict[RoundTripQuery, float | None] = {}
        done = driven(policy, loads, truth, answers)
        probes += done.probes
        assert done.relieved
        loads = loads.learnt(answers).handed_over(done.owner, truth[rows, done.owner])
        assert np.isfinite(loads.known_ms[rows, loads.owner]).all()
    assert probes <= 80
    assert done.total_ms(truth) <= at_once * 1.005


def test_only_ours_balances_in_passes() -> None:
    assert [len(passes_of(name)) for name in POLICIES] == [1, 1, 1, 1, ASKING_PASSES + 2]
    assert passes_of("variance") == (POLICIES["variance"],)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_programme_finds_what_trying_all_combinations_finds(seed: int) -> None:
    loads, truth = loads_in(seed, units=7, crawlers=3, room=1.5)
    tried = exhaustive_owners(truth, loads)
    if tried is not None:
        rows = np.arange(7)
        best = float(truth[rows, tried].sum())
        assert float(truth[rows, cheapest_owners(truth, loads)].sum()) == pytest.approx(best, rel=2e-4)


def test_the_optimum_is_below_the_heuristics_and_they_are_not_far() -> None:
    ratios = {name: [] for name in ("variance", "next-best")}  # type: dict[str, list[float]]
    for seed in range(10):
        loads, truth = loads_in(seed)
        optimum = balanced("assignment", loads, truth).total_ms(truth)
        for name, found in ratios.items():
            found.append(balanced(name, loads, truth).total_ms(truth) / optimum)
    assert all(ratio >= 0.9999 for found in ratios.values() for ratio in found)
    assert np.mean(ratios["next-best"]) < np.mean(ratios["variance"]) < 1.3


def test_ours_comes_within_three_percent_of_the_optimum_for_one_probe_per_unit() -> None:
    ratios, probes = [], []
    for seed in range(10):
        loads, truth = loads_in(seed, known_each=2)
        optimum = float(truth[np.arange(60), cheapest_owners(truth, loads)].sum())
        done = balanced("assign-and-probe", loads, truth)
        ratios.append(done.total_ms(truth) / optimum)
        probes.append(done.probes / 60)
    assert np.mean(ratios) <= 1.03
    assert max(probes) <= 1.0


# One overfull crawler (0) with three units of weight 1, room for two; the others have room.
SMALL = Loads(
    known_ms=np.array([[10.0, 12.0, 90.0], [10.0, 30.0, 31.0], [10.0, 80.0, 81.0]]),
    belief=TriangleEstimator(np.array([[0.0, 20.0, 60.0], [20.0, 0.0, 50.0], [60.0, 50.0, 0.0]])),
    bytes_a_day=np.ones(3),
    capacity_bytes_a_day=np.array([2.0, 3.0, 3.0]),
    owner=np.zeros(3, dtype=np.int64),
)


def test_the_variance_heuristic_releases_the_flattest_ground_even_where_another_is_cheaper() -> None:
    assert least_variance_move(SMALL, SMALL.owner, 0) == (1, 1)  # variances 1339, 94 and 1106
    assert next_best_move(SMALL, SMALL.owner, 0) == (0, 1)
    assert best_move(SMALL, SMALL.owner, 0) == (0, 1)


def test_a_next_best_without_room_is_passed_over() -> None:
    full = Loads(SMALL.known_ms, SMALL.belief, SMALL.bytes_a_day, np.array([2.0, 0.0, 3.0]), SMALL.owner)
    assert next_best_move(full, full.owner, 0) == (1, 2)


@pytest.mark.parametrize(
    ("way", "owners"),
    [("release", [0, 1, 0]), ("second-best", [0, 0, 1])],
)
def test_a_newcomer_at_a_full_crawler_by_both_of_the_papers_ways(way: WayOut, owners: list[int]) -> None:
    assert owners_with_newcomer(SMALL, newcomer=2, way=way).tolist() == owners


def test_a_newcomer_where_there_is_room_just_moves_in() -> None:
    roomy = Loads(SMALL.known_ms, SMALL.belief, SMALL.bytes_a_day, np.full(3, 9.0), SMALL.owner)
    assert owners_with_newcomer(roomy, newcomer=2, way="release").tolist() == [0, 0, 0]


def test_a_crawler_that_heard_nothing_is_not_chosen() -> None:
    mutual = np.array([[0.0, 10.0, 90.0], [10.0, 0.0, 90.0], [90.0, 90.0, 0.0]])
    known = np.array([[5.0, np.inf, np.nan]])
    loads = Loads(
        known, TriangleEstimator(mutual), np.ones(1), np.array([0.0, 9.0, 9.0]), np.zeros(1, int)
    )
    assert cheapest_owners(loads.costs_ms, loads).tolist() == [2]
