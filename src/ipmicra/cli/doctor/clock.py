"""The system clock -> whether it can be right, and whether the coordinator agrees."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ipmicra.cli.doctor.finding import Result, ok, problem, warning
from ipmicra.cli.doctor.installation import Installation
from ipmicra.protocol.signing import CLOCK_SKEW_MS_MAX

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # this version was written later
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
ANSWER_SECONDS = 3.0
SKEW_SECONDS_MAX = CLOCK_SKEW_MS_MAX / 1000
SKEW_SECONDS_NOTED = 5.0  # the Date header has whole seconds, and the answer takes time to come
_SET_IT = "set the clock, best by NTP: timedatectl set-ntp true"


def now() -> datetime:
    return datetime.now(UTC)


def check_clock(_: Installation) -> Result:
    moment = now()
    written = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    if not EARLIEST < moment < LATEST:
        return problem(f"{written} cannot be right", _SET_IT)
    return ok(written)


def check_against_coordinator(installation: Installation) -> Result | None:
    address = installation.coordinator_address
    if not address:
        return None
    try:
        skew_s = _skew_seconds(address)
    except (OSError, ValueError) as error:
        found = f"no coordinator answers at {address} ({getattr(error, 'reason', error)})"
        advice = "is it running, and is this its address?"
        return problem(found, advice) if installation.is_host else warning(found, advice)
    if skew_s is None:
        return warning(f"{address} sends no Date header", "compare the clocks by hand")
    written = f"{abs(skew_s):,.0f} s {'ahead of' if skew_s > 0 else 'behind'} {address}"
    if abs(skew_s) > SKEW_SECONDS_MAX:
        return problem(written, f"signed requests are refused from {SKEW_SECONDS_MAX:g} s: {_SET_IT}")
    if abs(skew_s) > SKEW_SECONDS_NOTED:
        return warning(written, _SET_IT)
    return ok(f"agrees with {address}")


def _skew_seconds(address: str) -> float | None:
    """How far this clock is ahead. An answer of any status has the time."""
    began_s = time.monotonic()
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - the operator's
            date = answer.headers["Date"]
    except urllib.error.HTTPError as error:
        with error:
            date = error.headers["Date"]
    if not date:
        return None
    round_trip_s = time.monotonic() - began_s
    return (now() - parsedate_to_datetime(date)).total_seconds() - round_trip_s / 2
