"""Where the next crawlers should stand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.delegation.planner import Numbers, best_places, enough, mean_nearest_ms


def plane(seed: int, candidates: int, sites: int) -> Numbers:
    dice = np.random.default_rng(seed)
    here, there = dice.uniform(0, 100, (candidates, 2)), dice.uniform(0, 100, (sites, 2))
    spans: Numbers = np.hypot(*(here[:, None] - there[None]).transpose(2, 0, 1))
    return spans


def clustered(seed: int, clusters: int) -> Numbers:
    """Candidates and sites in tight clusters far apart: as many crawlers as clusters are enough."""
    dice = np.random.default_rng(seed)
    centres = np.array([(1000.0 * number, 0.0) for number in range(clusters)])
    here = np.concatenate([centre + dice.uniform(-2, 2, (5, 2)) for centre in centres])
    there = np.concatenate([centre + dice.uniform(-2, 2, (20, 2)) for centre in centres])
    spans: Numbers = np.hypot(*(here[:, None] - there[None]).transpose(2, 0, 1)) + 1.0
    return spans


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_no_exchange_of_one_place_makes_the_plan_better(seed: int) -> None:
    table = plane(seed, candidates=10, sites=30)
    plan = best_places(table, 3)
    for out in range(3):
        for into in range(10):
            places = (*plan.places[:out], into, *plan.places[out + 1 :])
            assert mean_nearest_ms(table, places) >= plan.mean_ms[-1] * (1 - 1e-5)


def test_greedy_with_swaps_is_within_one_percent_of_all_combinations_on_average() -> None:
    ratios = []
    for seed in range(30):
        table = plane(seed, candidates=10, sites=30)
        best = min(mean_nearest_ms(table, places) for places in combinations(range(10), 3))
        ratios.append(best_places(table, 3).mean_ms[-1] / best)
    assert np.mean(ratios) <= 1.01
    assert max(ratios) <= 1.1


def test_the_plan_says_what_each_saves_and_savings_shrink() -> None:
    table = plane(4, candidates=40, sites=200)
    plan = best_places(table, 6)
    assert len(set(plan.places)) == 6
    assert plan.mean_ms[-1] == pytest.approx(mean_nearest_ms(table, plan.places))
    saved = plan.saved_ms(before_ms=100.0)
    assert all(ms > 0 for ms in saved)
    assert sum(saved) == pytest.approx(100.0 - plan.mean_ms[-1])


def test_swaps_improve_on_greedy_alone() -> None:
    gains = []
    for seed in range(10):
        table = plane(seed, candidates=60, sites=200)
        gains.append(
            enough(table, 6, saving_share_min=0.0).mean_ms[-1] - best_places(table, 6).mean_ms[-1]
        )
    assert min(gains) >= -1e-9
    assert max(gains) > 0.1


def test_crawlers_that_stand_already_stay_and_are_not_chosen_again() -> None:
    table = plane(5, candidates=20, sites=50)
    plan = best_places(table, 4, standing=(3, 7))
    assert not {3, 7} & set(plan.places)
    assert plan.mean_ms[-1] == pytest.approx(mean_nearest_ms(table, (3, 7, *plan.places)))


@pytest.mark.parametrize("clusters", [2, 4, 7])
def test_as_many_are_enough_as_there_are_clusters(clusters: int) -> None:
    plan = enough(clustered(1, clusters), count_max=20, saving_share_min=0.2)
    assert len(plan.places) == clusters
    assert len({place // 5 for place in plan.places}) == clusters


def test_heavy_sites_draw_the_crawler() -> None:
    table = np.array([[0.0, 100.0], [100.0, 0.0]])
    assert best_places(table, 1, weights=np.array([1.0, 5.0])).places == (1,)
    assert best_places(table, 1, weights=np.array([5.0, 1.0])).places == (0,)


def test_an_unknown_round_trip_is_taken_for_the_farthest_known() -> None:
    table = np.array([[np.nan, 5.0], [50.0, 6.0], [80.0, 5.0]])
    assert best_places(table, 1).places == (1,)


def test_no_more_places_than_candidates() -> None:
    assert len(best_places(plane(1, 3, 10), 9).places) == 3
