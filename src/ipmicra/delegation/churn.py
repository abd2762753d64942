"""A crawler comes or goes -> what changes hands, to whom, and what it costs.

When one leaves or dies, only what it had moves: to the next-best that is remembered, without a probe;
what nobody remembers is nobody's until one of its sites turns up again (lazily, as everything). When
one comes, only what may be nearer to it is offered, the greatest hope first, and only real gains move.

Law: nothing moves between two crawlers that were there before and stay.
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
    """A ground that was left behind. `heir` is None where it waits for its next site."""

    ground: DelegationUnit
    heir: CrawlerId | None
    extra_ms: float | None  # slower than with the one who left, where both are remembered


def reassign_from_leaver(strategy: Strategy, leaver: CrawlerId) -> tuple[Reassignment, ...]:
    """The leaver goes; what it had goes to the fastest remembered crawler that is awake."""
    remembered = {
        ground: _remembered_ms(strategy, ground) for ground in strategy.delegations.held_by(leaver)
    }
    strategy.crawler_left(leaver)
    inheritance = []
    for ground, known_ms in remembered.items():
        left_ms = known_ms.pop(leaver, None)
        heir = min(
            filter(strategy.crawlers.is_awake, known_ms), key=lambda name: known_ms[name], default=None
        )
        extra_ms = known_ms[heir] - left_ms if heir is not None and left_ms is not None else None
        if heir is not None:
            strategy.give(ground, heir)
        inheritance.append(Reassignment(ground, heir, extra_ms))
    return tuple(inheritance)


class NewcomerOffer(NamedTuple):
    """What a newcomer was asked about and what it took."""

    probes: int
    taken: tuple[tuple[DelegationUnit, CrawlerId, float], ...]  # ground, who had it, milliseconds saved


def offer_to_newcomer(
    strategy: Strategy,
    newcomer: CrawlerId,
    targets: Mapping[DelegationUnit, Target],
    now_s: float,
    *,
    probes_max: int,
    gain_ms_min: float = 5.0,
) -> Generator[Probe, ProbeAnswer, NewcomerOffer]:
    """Probe from the newcomer what it may be nearer to, and move what it is nearer to by `gain_ms_min`.

    `targets` gives each ground a site to probe. What the triangle rules out is not asked.
    """
    hopes = sorted(
        _hopes_ms(strategy, newcomer, targets, gain_ms_min).items(), key=lambda hope: -hope[1]
    )
    taken, probes = [], 0
    for ground, _ in hopes[:probes_max]:
        owner = strategy.delegations.owner(ground)
        owner_ms = _remembered_ms(strategy, ground).get(owner) if owner is not None else None
        if owner is None or owner_ms is None or not strategy.crawlers.is_awake(newcomer):
            continue
        probes += 1
        own_ms = yield from ProbeSession(strategy, targets[ground], now_s).ask(newcomer)
        if own_ms is not None and owner_ms - own_ms >= gain_ms_min:
            strategy.give(ground, newcomer)
            taken.append((ground, owner, owner_ms - own_ms))
    return NewcomerOffer(probes, tuple(taken))


def _hopes_ms(
    strategy: Strategy, newcomer: CrawlerId, targets: Mapping[DelegationUnit, Target], gain_ms_min: float
) -> dict[DelegationUnit, float]:
    """What each ground could save at most: its owner's time less the newcomer's lower bound."""
    hopes = {}
    for ground in targets:
        known_ms = _remembered_ms(strategy, ground)
        owner = strategy.delegations.owner(ground)
        if owner is None or owner == newcomer or owner not in known_ms or strategy.is_anycast(ground):
            continue
        hope_ms = known_ms[owner] - _at_least_ms(strategy, newcomer, known_ms)
        if hope_ms >= gain_ms_min:
            hopes[ground] = hope_ms
    return hopes


def _at_least_ms(strategy: Strategy, newcomer: CrawlerId, known_ms: Mapping[CrawlerId, float]) -> float:
    """By the triangle: who is at r, and at d from the newcomer, leaves it no nearer than |d - r|."""
    bounds = [0.0]
    for crawler, round_trip_ms in known_ms.items():
        if (mutual_ms := strategy.crawlers.mutual_ms(newcomer, crawler)) is not None:
            bounds.append(abs(mutual_ms - round_trip_ms))
    return max(bounds)


def _remembered_ms(strategy: Strategy, ground: DelegationUnit) -> dict[CrawlerId, float]:
    place = strategy.place_of_ground(ground)
    records = strategy.measurements.of(place) if place is not None else {}
    return {
        crawler: record.smoothed_ms
        for crawler, record in records.items()
        if record.smoothed_ms is not None and not record.silences_in_row
    }
