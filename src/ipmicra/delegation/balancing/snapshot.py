"""A strategy and the bytes its units bring -> the loads that a policy balances, and its moves made real.

Invariant: units that are not weighed are not moved. An address in many places costs the same from everywhere:
it may be moved for load, never for latency.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import NamedTuple

import numpy as np

from ipmicra.delegation.balancing.estimates import FloatArray, RoundTripEstimator
from ipmicra.delegation.balancing.loads import Loads, RoundTripQuery
from ipmicra.delegation.balancing.policies import Policy
from ipmicra.delegation.balancing.regions import RegionalEstimator
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.driver import drive_by_asking
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Measurement, Probe, ProbeAnswer, Target


class UnitLoad(NamedTuple):
    """The load of a unit, and one of its sites, by which it can be probed."""

    bytes_a_day: float
    target: Target


class CompletedMove(NamedTuple):
    unit: DelegationUnit
    was: CrawlerId
    now: CrawlerId


def balanced(
    strategy: Strategy,
    weighed: Mapping[DelegationUnit, UnitLoad],
    policy: Policy,
    now_s: float,
    belief: RoundTripEstimator | None = None,
) -> Generator[Probe, ProbeAnswer, tuple[CompletedMove, ...]]:
    """Let a policy balance what is weighed, ask what it asks, and delegate as it says."""
    units = [unit for unit in weighed if strategy.delegations.owner(unit) is not None]
    crawlers = strategy.crawlers.all
    loads = loads_of(strategy, units, weighed, belief)

    def answer(question: RoundTripQuery) -> Generator[Probe, ProbeAnswer, float | None]:
        crawler, target = crawlers[question.crawler], weighed[units[question.unit]].target
        return _asked(strategy, crawler, target, now_s)

    assignment = yield from drive_by_asking(policy(loads), answer)
    moves = assignment.moves(loads)
    moved = tuple(CompletedMove(units[unit], crawlers[was], crawlers[now]) for unit, was, now in moves)
    moved = tuple(move for move in moved if strategy.crawlers.is_awake(move.now))
    for move in moved:
        strategy.give(move.unit, move.now)
    return moved


def _asked(
    strategy: Strategy, crawler: CrawlerId, target: Target, now_s: float
) -> Generator[Probe, ProbeAnswer, float | None]:
    """A sleeper is not asked: it says nothing, and gets nothing."""
    if not strategy.crawlers.is_awake(crawler):
        return None
    answer = yield Probe(crawler, target)
    if answer.about_target:
        strategy.learn(Measurement(crawler, target.address, answer.round_trip_ms, now_s))
    return answer.round_trip_ms


def loads_of(
    strategy: Strategy,
    units: list[DelegationUnit],
    weighed: Mapping[DelegationUnit, UnitLoad],
    belief: RoundTripEstimator | None = None,
) -> Loads:
    """Rows: the units; columns: all crawlers present, in the order they joined."""
    crawlers = strategy.crawlers.all
    number = {crawler: column for column, crawler in enumerate(crawlers)}
    owners = [strategy.delegations.owner(unit) for unit in units]
    profiles = [strategy.crawlers.profile(crawler) for crawler in crawlers]
    return Loads(
        known_ms=np.array([_known(strategy, unit, number) for unit in units]).reshape(
            len(units), len(crawlers)
        ),
        belief=belief if belief is not None else RegionalEstimator(mutual_ms(strategy)),
        bytes_a_day=np.array([weighed[unit].bytes_a_day for unit in units], dtype=np.float64),
        capacity_bytes_a_day=np.array([profile.capacity_bytes_a_day for profile in profiles]),
        owner=np.array([number[owner] for owner in owners if owner is not None], dtype=np.int64),
    )


def mutual_ms(strategy: Strategy) -> FloatArray:
    """The crawlers' round trips to each other; the mean of the others where a pair is unknown."""
    crawlers = strategy.crawlers.all
    table = np.array(
        [[strategy.crawlers.mutual_ms(a, b) for b in crawlers] for a in crawlers], dtype=float
    )
    known = table[np.isfinite(table) & (table > 0)]
    return np.where(np.isfinite(table), table, float(known.mean()) if known.size else 1.0)


def _known(strategy: Strategy, unit: DelegationUnit, number: Mapping[CrawlerId, int]) -> FloatArray:
    """The remembered round trips of a unit, by crawler. NaN: none. Infinite: it did not answer."""
    row = np.full(len(number), np.nan)
    if strategy.is_anycast(unit):
        return np.zeros(len(number))
    if (place := strategy.range_of_unit(unit)) is None:
        return row
    for crawler, record in strategy.measurements.of(place).items():
        if crawler in number and record.smoothed_ms is not None:
            row[number[crawler]] = np.inf if record.silences_in_row else record.smoothed_ms
    return row
