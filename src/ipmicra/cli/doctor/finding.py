"""The finding of one check: severity, subject, result and advice."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import msgspec

DEADLINE_SECONDS = 10.0  # of a check that has no other


class Severity(StrEnum):
    OK = "ok"
    WARNING = "warning"  # works, and should be looked at
    PROBLEM = "problem"  # something does not work, or is exposed


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `ipmicra doctor`. `advice` is empty where nothing is to be done."""

    severity: Severity
    subject: str
    found: str
    advice: str = ""


class Result(NamedTuple):
    """The result of a check; its subject is the check's name."""

    severity: Severity
    found: str
    advice: str = ""


class Check(NamedTuple):
    """One look at one thing. `look` returns None where there is nothing to look at."""

    subject: str
    look: Callable[[], Result | None]
    deadline_s: float = DEADLINE_SECONDS


def ok(found: str, advice: str = "") -> Result:
    return Result(Severity.OK, found, advice)


def warning(found: str, advice: str) -> Result:
    return Result(Severity.WARNING, found, advice)


def problem(found: str, advice: str) -> Result:
    return Result(Severity.PROBLEM, found, advice)
