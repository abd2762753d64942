"""Times of ordinary fetches compared with their history -> delegations to probe again, and when to leave them
alone (IPMicra paper, 4.4; the later one, III.F).

A time that is `factor` times its history, `repeats` times in a row, starts a recalibration: the unit is
delegated afresh, and moves only if the gain is worth it. Whether it moved or not, the new time becomes the
history, and the unit is left alone for a while; each recalibration soon after the last doubles this pause.
So a flapping route costs a few probes and at most a few moves, however long it flaps.

Invariant: alarms come from times alone, moves from probes alone. Anycast is never moved for latency.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from enum import StrEnum

import msgspec

from ipmicra.delegation.decision import Decision
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.evidence.measurements import SMOOTHING_GAIN
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target


class CalibrationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operator's thresholds. The papers leave them to the administrator and give no values."""

    factor: float = 2.0  # slower than this times the history is slow; higher: fewer alarms, later ones
    rise_ms_min: float = 10.0  # and by at least this: a small rise near the site does no harm
    repeats: int = 3  # consecutive slow fetches; more: fewer false alarms, later true ones
    gain_share_min: float = 0.2  # a move must save this share; higher: steadier, further from the best
    rest_s: float = 3600.0  # seconds between two recalibrations; longer: fewer probes, slower to follow
    rest_s_max: float = 7 * 86400.0  # limit of the doubling
    grounds_max: int = 200_000  # histories of units in memory; about 60 MB


class CalibrationVerdict(StrEnum):
    FINE = "fine"
    SLOW = "slow"  # but not often enough yet, or recalibrated recently
    LOOK_AGAIN = "look-again"


class FetchTimeHistory(msgspec.Struct):
    """The normal fetch time of one unit with its present owner."""

    crawler: CrawlerId
    normal_ms: float
    slow_in_row: int = 0
    looked_at_s: float | None = None
    rest_s: float = 0.0


class Recalibration(msgspec.Struct, frozen=True):
    """The result of a recalibration."""

    decision: Decision
    was: CrawlerId
    now: CrawlerId

    @property
    def moved(self) -> bool:
        return self.was != self.now


class Calibration:
    """The histories of all units, and the judgement on each new time."""

    def __init__(self, settings: CalibrationSettings) -> None:
        self.settings = settings
        self._histories: dict[DelegationUnit, FetchTimeHistory] = {}

    def observe(
        self, unit: DelegationUnit, crawler: CrawlerId, time_ms: float, now_s: float
    ) -> CalibrationVerdict:
        """Judge one fetch time of the unit's owner."""
        history = self._histories.pop(unit, None)
        if history is None:
            history = FetchTimeHistory(crawler, time_ms)
        elif history.crawler != crawler:  # moved otherwise: a new normal, the same pause
            history.crawler, history.normal_ms, history.slow_in_row = crawler, time_ms, 0
        self._keep(unit, history)
        if not self._is_slow(history, time_ms):
            history.slow_in_row = 0
            history.normal_ms += SMOOTHING_GAIN * (time_ms - history.normal_ms)
            return CalibrationVerdict.FINE
        history.slow_in_row += 1
        rested = history.looked_at_s is None or now_s - history.looked_at_s >= history.rest_s
        return (
            CalibrationVerdict.LOOK_AGAIN
            if history.slow_in_row >= self.settings.repeats and rested
            else CalibrationVerdict.SLOW
        )

    def histories(self) -> Mapping[DelegationUnit, FetchTimeHistory]:
        """All histories, the least recently updated first."""
        return self._histories

    def restore(self, unit: DelegationUnit, history: FetchTimeHistory) -> None:
        """A history from an earlier process."""
        self._keep(unit, history)

    def is_worth_moving(self, now_ms: float, then_ms: float) -> bool:
        """Whether the gain justifies a move: frontier and politeness clock move too."""
        saved_ms = now_ms - then_ms
        return (
            saved_ms >= self.settings.rise_ms_min and saved_ms >= self.settings.gain_share_min * now_ms
        )

    def on_recalibrated(
        self, unit: DelegationUnit, crawler: CrawlerId, time_ms: float, now_s: float
    ) -> None:
        """A recalibration ended; from now on this crawler owns the unit with this time."""
        history = self._histories.pop(unit, None) or FetchTimeHistory(crawler, time_ms)
        last_s = history.looked_at_s
        soon = last_s is not None and now_s - last_s < 4 * history.rest_s
        rest_s = min(2 * history.rest_s, self.settings.rest_s_max) if soon else self.settings.rest_s
        self._keep(unit, FetchTimeHistory(crawler, time_ms, 0, now_s, rest_s))

    def _is_slow(self, history: FetchTimeHistory, time_ms: float) -> bool:
        limit_ms = max(
            self.settings.factor * history.normal_ms, history.normal_ms + self.settings.rise_ms_min
        )
        return time_ms > limit_ms

    def _keep(self, unit: DelegationUnit, history: FetchTimeHistory) -> None:
        while len(self._histories) >= self.settings.grounds_max:
            del self._histories[next(iter(self._histories))]
        self._histories[unit] = history


def recalibrate(
    strategy: Strategy, calibration: Calibration, target: Target, time_ms: float, now_s: float
) -> Generator[Probe, ProbeAnswer, Recalibration | None]:
    """Delegate the target afresh, and keep the owner unless the gain is worth a move.

    `time_ms` is the owner's present fetch time. None if there is nothing to decide: the target has no owner,
    its owner is asleep, or it is anycast.
    """
    unit, owner = strategy.unit_of(target), strategy.owner_of(target)
    if owner is None or not strategy.crawlers.is_awake(owner) or strategy.is_anycast(unit):
        return None
    decision = yield from strategy.delegate(target, now_s, afresh=True)
    asked_ms = {crawler: answer.round_trip_ms for crawler, answer in decision.probes}
    owner_ms = asked_ms.get(owner) or time_ms
    chosen, chosen_ms = decision.crawler, decision.round_trip_ms
    if chosen is None or chosen_ms is None or not calibration.is_worth_moving(owner_ms, chosen_ms):
        chosen, chosen_ms = owner, owner_ms
    for held in decision.subnets or (unit,):
        strategy.give(held, chosen)
    calibration.on_recalibrated(unit, chosen, chosen_ms, now_s)
    return Recalibration(decision, owner, chosen)
