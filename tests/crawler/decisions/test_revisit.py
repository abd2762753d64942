"""Revisit times: the estimator against a seeded Poisson world, and the budget against its sum."""

from __future__ import annotations

import math
import random

import pytest

from ipmicra.crawler.decisions.revisit import (
    DAY_SECONDS,
    HISTORY_VISITS_MAX,
    ChangeHistory,
    RevisitRules,
    WatchedPage,
    changes_per_second,
    price_for_budget,
    revisit_seconds,
)

RULES = RevisitRules()


def visited(rate: float, interval: float, visits: int, dice: random.Random) -> ChangeHistory:
    history = ChangeHistory()
    for _ in range(visits):
        history = history.after(dice.random() < 1 - math.exp(-rate * interval), interval)
    return history


@pytest.mark.parametrize("changes_per_day", [0.1, 0.5, 1.0, 2.0])
def test_the_estimate_is_near_the_true_rate(changes_per_day: float) -> None:
    dice = random.Random(7)
    rate = changes_per_day / DAY_SECONDS
    estimates = [
        changes_per_second(visited(rate, DAY_SECONDS, 40, dice), DAY_SECONDS) for _ in range(400)
    ]
    assert sum(estimates) / len(estimates) == pytest.approx(rate, rel=0.06)


def test_a_page_that_always_changes_has_a_finite_rate() -> None:
    history = ChangeHistory(visits=10, changes=10, watched_seconds=10 * DAY_SECONDS)
    assert 0 < changes_per_second(history, DAY_SECONDS) * DAY_SECONDS < 10


def test_a_page_that_never_changes_is_visited_ever_more_seldom() -> None:
    history, intervals = ChangeHistory(), []
    for _ in range(12):
        intervals.append(revisit_seconds(history, RULES))
        history = history.after(False, intervals[-1])
    assert intervals[0] == RULES.interval_seconds_first
    assert intervals[-1] == RULES.interval_seconds_max


def test_a_page_that_changes_at_every_visit_is_visited_ever_sooner() -> None:
    history, intervals = ChangeHistory(), []
    for _ in range(12):
        intervals.append(revisit_seconds(history, RULES))
        history = history.after(True, intervals[-1])
    assert intervals == sorted(intervals, reverse=True)
    assert intervals[-1] < DAY_SECONDS / 4


def test_a_sitemap_hint_is_a_prior_only() -> None:
    assert revisit_seconds(ChangeHistory(), RULES, hint=7 * DAY_SECONDS) == 7 * DAY_SECONDS
    history = ChangeHistory(visits=20, changes=20, watched_seconds=20 * DAY_SECONDS)
    assert revisit_seconds(history, RULES, hint=7 * DAY_SECONDS) < DAY_SECONDS


def test_old_evidence_fades() -> None:
    history = ChangeHistory()
    for _ in range(500):
        history = history.after(False, DAY_SECONDS)
    assert history.visits == pytest.approx(HISTORY_VISITS_MAX)
    for _ in range(60):
        history = history.after(True, DAY_SECONDS)
    assert history.changes > history.visits / 2


GROUPS = [WatchedPage(1000, rate / DAY_SECONDS, 10_000) for rate in (0.01, 0.1, 1.0, 10.0, 100.0)]


def spent_per_day(price: float) -> float:
    total = 0.0
    for group in GROUPS:
        interval = revisit_seconds(ChangeHistory(), RULES, price, int(group.page_bytes), 1 / group.rate)
        total += group.pages * group.page_bytes * DAY_SECONDS / interval
    return total


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1, 0.02])
def test_the_budget_is_kept_and_used(share: float) -> None:
    budget = spent_per_day(0.0) * share
    price = price_for_budget(GROUPS, budget, RULES)
    assert spent_per_day(price) <= budget * 1.001
    assert spent_per_day(price) >= budget * 0.5


def test_without_need_a_byte_costs_nothing() -> None:
    assert price_for_budget(GROUPS, 1e15, RULES) == 0.0


def test_under_a_tight_budget_pages_that_change_too_fast_are_not_chased() -> None:
    price = price_for_budget(GROUPS, spent_per_day(0.0) * 0.02, RULES)
    fast = revisit_seconds(ChangeHistory(), RULES, price, 10_000, DAY_SECONDS / 100)
    steady = revisit_seconds(ChangeHistory(), RULES, price, 10_000, DAY_SECONDS)
    assert fast > steady
