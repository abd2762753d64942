"""Times of ordinary fetches against their own history -> which delegations to look at again, and when to
leave them alone (IPMicra paper, 4.4; the later one, III.F).

A time that is `factor` times its history, and so `repeats` times in a row, asks for a new look. The look
is a delegation afresh; the subnet moves only if the gain is worth it. Whether it moved or not, the time
found then is the history from then on, and the ground rests; each look soon after the last doubles the
rest. So a route that flaps costs a few probes and at most a few moves, however long it flaps.

Law: alarms come from times alone, moves from probes alone. Anycast is never moved for latency.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from enum import StrEnum

import msgspec

from ipmicra.delegation.decision import Decision
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.measurements import SMOOTHING_GAIN
from ipmicra.delegation.strategy import Strategy
from ipmicra.model.ids import CrawlerId
from ipmicra.model.probes import Probe, ProbeAnswer, Target


class CalibrationSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The operator's thresholds. The papers leave them to the administrator and give no values."""

    factor: float = 2.0  # slower than this times the history is slow; higher: fewer alarms, later ones
    rise_ms_min: float = 10.0  # and by at least this: a rise within a site's neighbourhood harms nobody
    repeats: int = 3  # slow so many times in a row; more: fewer false alarms, later true ones
    gain_share_min: float = 0.2  # a move must save this share; higher: steadier, further from the best
    rest_s: float = 3600.0  # no second look before this; longer: fewer probes, slower to follow
    rest_s_max: float = 7 * 86400.0  # where doubling stops
    grounds_max: int = 200_000  # histories kept; some 60 MB


class CalibrationVerdict(StrEnum):
    FINE = "fine"
    SLOW = "slow"  # but not often enough yet, or looked at just now
    LOOK_AGAIN = "look-again"


class FetchTimeHistory(msgspec.Struct):
    """What is normal for one ground with its present owner."""

    crawler: CrawlerId
    normal_ms: float
    slow_in_row: int = 0
    looked_at_s: float | None = None
    rest_s: float = 0.0


class Recalibration(msgspec.Struct, frozen=True):
    """What came of a second look."""

    decision: Decision
    was: CrawlerId
    now: CrawlerId

    @property
    def moved(self) -> bool:
        return self.was != self.now


class Calibration:
    """The histories of all grounds, and the judgement on each new time."""

    def __init__(self, settings: CalibrationSettings) -> None:
        self.settings = settings
        self._histories: dict[DelegationUnit, FetchTimeHistory] = {}

    def observe(
        self, ground: DelegationUnit, crawler: CrawlerId, time_ms: float, now_s: float
    ) -> CalibrationVerdict:
        """Judge one time of the ground's owner."""
        history = self._histories.pop(ground, None)
        if history is None:
            history = FetchTimeHistory(crawler, time_ms)
        elif history.crawler != crawler:  # moved by somebody else: a new normal, the same rest
            history.crawler, history.normal_ms, history.slow_in_row = crawler, time_ms, 0
        self._keep(ground, history)
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
        """What is remembered, the longest unheard of first."""
        return self._histories

    def recall(self, ground: DelegationUnit, history: FetchTimeHistory) -> None:
        """What was remembered before, by this or another process."""
        self._keep(ground, history)

    def worth_moving(self, now_ms: float, then_ms: float) -> bool:
        """Whether a gain justifies a move: frontier and politeness clock move along."""
        saved_ms = now_ms - then_ms
        return (
            saved_ms >= self.settings.rise_ms_min and saved_ms >= self.settings.gain_share_min * now_ms
        )

    def looked(self, ground: DelegationUnit, crawler: CrawlerId, time_ms: float, now_s: float) -> None:
        """A second look was taken; this crawler has the ground at this time from now on."""
        history = self._histories.pop(ground, None) or FetchTimeHistory(crawler, time_ms)
        last_s = history.looked_at_s
        soon = last_s is not None and now_s - last_s < 4 * history.rest_s
        rest_s = min(2 * history.rest_s, self.settings.rest_s_max) if soon else self.settings.rest_s
        self._keep(ground, FetchTimeHistory(crawler, time_ms, 0, now_s, rest_s))

    def _is_slow(self, history: FetchTimeHistory, time_ms: float) -> bool:
        limit_ms = max(
            self.settings.factor * history.normal_ms, history.normal_ms + self.settings.rise_ms_min
        )
        return time_ms > limit_ms

    def _keep(self, ground: DelegationUnit, history: FetchTimeHistory) -> None:
        while len(self._histories) >= self.settings.grounds_max:
            del self._histories[next(iter(self._histories))]
        self._histories[ground] = history


def look_again(
    strategy: Strategy, calibration: Calibration, target: Target, time_ms: float, now_s: float
) -> Generator[Probe, ProbeAnswer, Recalibration | None]:
    """Delegate the target afresh, and keep the owner unless the gain is worth a move.

    `time_ms` is what the owner's fetches take now. None where there is nothing to decide: nobody has it,
    its owner sleeps, or it is anycast.
    """
    ground, owner = strategy.ground_of(target), strategy.delegated(target)
    if owner is None or not strategy.crawlers.is_awake(owner) or strategy.is_anycast(ground):
        return None
    decision = yield from strategy.delegate(target, now_s, afresh=True)
    asked_ms = {crawler: answer.round_trip_ms for crawler, answer in decision.probes}
    owner_ms = asked_ms.get(owner) or time_ms
    chosen, chosen_ms = decision.crawler, decision.round_trip_ms
    if chosen is None or chosen_ms is None or not calibration.worth_moving(owner_ms, chosen_ms):
        chosen, chosen_ms = owner, owner_ms
    for held in decision.subnets or (ground,):
        strategy.give(held, chosen)
    calibration.looked(ground, chosen, chosen_ms, now_s)
    return Recalibration(decision, owner, chosen)
