"""A crawler joins or leaves -> the units that change owners, and the cost.

When a crawler leaves or dies, only its units move: to the next-best remembered crawler, without a probe. A
unit without a remembered crawler stays without an owner until one of its sites is submitted again. When a
crawler joins, only units that may be nearer to it are probed, the largest possible gain first, and only
real gains move.

Invariant: no unit moves between two crawlers that were present before and stay.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import NamedTuple

from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.probe_session import ProbeSession
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target


class Reassignment(NamedTuple):
    """A unit of a crawler that left. `successor` is None if it waits for its next site."""

    unit: DelegationUnit
    successor: CrawlerId | None
    extra_ms: float | None  # slower than with the former owner, if both are remembered


def reassign_from_leaver(strategy: Strategy, leaver: CrawlerId) -> tuple[Reassignment, ...]:
    """Remove the leaver and give its units to the fastest remembered crawlers that are awake."""
    remembered = {unit: _remembered_ms(strategy, unit) for unit in strategy.delegations.held_by(leaver)}
    strategy.on_crawler_left(leaver)
    inheritance = []
    for unit, known_ms in remembered.items():
        left_ms = known_ms.pop(leaver, None)
        successor = min(
            filter(strategy.crawlers.is_awake, known_ms), key=lambda name: known_ms[name], default=None
        )
        extra_ms = (
            known_ms[successor] - left_ms if successor is not None and left_ms is not None else None
        )
        if successor is not None:
            strategy.give(unit, successor)
        inheritance.append(Reassignment(unit, successor, extra_ms))
    return tuple(inheritance)


class NewcomerOffer(NamedTuple):
    """The probes from a newcomer, and the units it took."""

    probes: int
    taken: tuple[tuple[DelegationUnit, CrawlerId, float], ...]  # unit, former owner, milliseconds saved


def offer_to_newcomer(
    strategy: Strategy,
    newcomer: CrawlerId,
    targets: Mapping[DelegationUnit, Target],
    now_s: float,
    *,
    probes_max: int,
    gain_ms_min: float = 5.0,
) -> Generator[Probe, ProbeAnswer, NewcomerOffer]:
    """Probe from the newcomer the units that it may be nearer to, and move those that gain `gain_ms_min`.

    `targets` has one site to probe for each unit. Units that the triangle inequality excludes are not probed.
    """
    possible_gains = sorted(
        _possible_gains_ms(strategy, newcomer, targets, gain_ms_min).items(), key=lambda gain: -gain[1]
    )
    taken, probes = [], 0
    for unit, _ in possible_gains[:probes_max]:
        owner = strategy.delegations.owner(unit)
        owner_ms = _remembered_ms(strategy, unit).get(owner) if owner is not None else None
        if owner is None or owner_ms is None or not strategy.crawlers.is_awake(newcomer):
            continue
        probes += 1
        own_ms = yield from ProbeSession(strategy, targets[unit], now_s).ask(newcomer)
        if own_ms is not None and owner_ms - own_ms >= gain_ms_min:
            strategy.give(unit, newcomer)
            taken.append((unit, owner, owner_ms - own_ms))
    return NewcomerOffer(probes, tuple(taken))


def _possible_gains_ms(
    strategy: Strategy, newcomer: CrawlerId, targets: Mapping[DelegationUnit, Target], gain_ms_min: float
) -> dict[DelegationUnit, float]:
    """The largest possible saving of each unit: its owner's time less the newcomer's lower bound."""
    possible_gains = {}
    for unit in targets:
        known_ms = _remembered_ms(strategy, unit)
        owner = strategy.delegations.owner(unit)
        if owner is None or owner == newcomer or owner not in known_ms or strategy.is_anycast(unit):
            continue
        gain_ms = known_ms[owner] - _at_least_ms(strategy, newcomer, known_ms)
        if gain_ms >= gain_ms_min:
            possible_gains[unit] = gain_ms
    return possible_gains


def _at_least_ms(strategy: Strategy, newcomer: CrawlerId, known_ms: Mapping[CrawlerId, float]) -> float:
    """Triangle inequality: a crawler at r, and at d from the newcomer, implies at least |d - r|."""
    bounds = [0.0]
    for crawler, round_trip_ms in known_ms.items():
        if (mutual_ms := strategy.crawlers.mutual_ms(newcomer, crawler)) is not None:
            bounds.append(abs(mutual_ms - round_trip_ms))
    return max(bounds)


def _remembered_ms(strategy: Strategy, unit: DelegationUnit) -> dict[CrawlerId, float]:
    place = strategy.range_of_unit(unit)
    records = strategy.measurements.of(place) if place is not None else {}
    return {
        crawler: record.smoothed_ms
        for crawler, record in records.items()
        if record.smoothed_ms is not None and not record.silences_in_row
    }
