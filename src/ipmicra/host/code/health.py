"""Observations of code on trial -> wait, keep it, or roll it back.

Code is healthy if it has answered, has not exited by itself, and has fetched a page since it started (or
had nothing to fetch during the whole trial). Invariant: a pure decision; no clock, no process.
"""

from __future__ import annotations

from enum import Enum, auto

import msgspec


class TrialRules(msgspec.Struct, frozen=True, kw_only=True):
    answer_s_max: float = 20.0  # from the start to the first answer, and between two
    work_s_max: float = 120.0  # to the first page, where there are pages to fetch


ORDINARY_RULES = TrialRules()


class TrialObservation(msgspec.Struct, frozen=True, kw_only=True):
    """One trial so far. Times are seconds since its start in which it was allowed to work."""

    age_s: float
    answered_s: float | None = None  # when it last answered
    has_ended: bool = False
    ending: str = ""
    pages_done: int = 0  # since its start
    pages_waiting: int = 0  # that it could have fetched


class TrialVerdict(Enum):
    WAIT = auto()
    HEALTHY = auto()
    FAILED = auto()


def verdict(seen: TrialObservation, rules: TrialRules = ORDINARY_RULES) -> tuple[TrialVerdict, str]:
    """The verdict, and the reason if it failed."""
    if seen.has_ended:
        return TrialVerdict.FAILED, f"it exited by itself: {seen.ending or 'without a message'}"
    silent_s = seen.age_s - (seen.answered_s or 0.0)
    if silent_s > rules.answer_s_max:
        return TrialVerdict.FAILED, f"it has not answered for {silent_s:.0f} s"
    if seen.answered_s is not None and seen.pages_done > 0:
        return TrialVerdict.HEALTHY, ""
    if seen.age_s <= rules.work_s_max:
        return TrialVerdict.WAIT, ""
    if seen.pages_waiting:
        return (
            TrialVerdict.FAILED,
            f"in {seen.age_s:.0f} s it fetched none of {seen.pages_waiting} waiting pages",
        )
    return TrialVerdict.HEALTHY, ""
