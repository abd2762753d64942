"""Working hours: read as an owner writes them, on the wall clock of the host's place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ipmicra.errors import OperatorFault
from ipmicra.host.limits.hours import Hours

NIGHTS = "mon-fri 22:00-06:00, sat,sun 00:00-24:00"
ATHENS = ZoneInfo("Europe/Athens")


@pytest.mark.parametrize(
    ("text", "local", "open_"),
    [
        (NIGHTS, "2026-11-16 21:59", False),  # a Monday
        (NIGHTS, "2026-11-16 22:00", True),
        (NIGHTS, "2026-11-17 05:59", True),  # Monday's night, on Tuesday
        (NIGHTS, "2026-11-17 06:00", False),
        (NIGHTS, "2026-11-21 12:00", True),  # Saturday
        (NIGHTS, "2026-11-23 00:00", False),  # Monday morning: Sunday's span has ended
        ("always", "2026-11-17 12:00", True),
        ("", "2026-11-17 12:00", True),
        ("02:00-03:30; 12:00-13:00", "2026-11-17 12:59", True),
        ("02:00-03:30; 12:00-13:00", "2026-11-17 03:30", False),
        ("sun 23:00-01:00", "2026-11-16 00:30", True),  # over the end of the week
        ("fri-mon 09:00-10:00", "2026-11-15 09:30", True),
        ("fri-mon 09:00-10:00", "2026-11-17 09:30", False),
        ("mon 12:00-24:00", "2026-11-16 23:59", True),
    ],
)
def test_hours_are_read_as_an_owner_means_them(text: str, local: str, open_: bool) -> None:
    at = datetime.strptime(local, "%Y-%m-%d %H:%M").replace(tzinfo=ATHENS)
    assert Hours.parse(text, "Europe/Athens").is_open(at) is open_


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("mon-fri", "UTC"),
        ("mon 25:00-26:00", "UTC"),
        ("mon 10:61-11:00", "UTC"),
        ("mon 10:00-10:00", "UTC"),
        ("someday 10:00-11:00", "UTC"),
        ("10:00", "UTC"),
        ("always", "Atlantis/Deep"),
        ("always", "../etc/passwd"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(text: str, zone: str) -> None:
    with pytest.raises(OperatorFault, match="hours: "):
        Hours.parse(text, zone)


def test_the_next_change_is_known() -> None:
    hours = Hours.parse(NIGHTS, "UTC")
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    assert hours.changes_at(noon) == datetime(2026, 11, 16, 22, tzinfo=UTC)
    assert hours.changes_at(datetime(2026, 11, 16, 23, 30, tzinfo=UTC)) == datetime(
        2026, 11, 17, 6, tzinfo=UTC
    )
    assert Hours.parse("always").changes_at(noon) is None


def test_hours_follow_summer_time() -> None:
    """22:00 in Athens is 20:00 UTC in winter and 19:00 UTC in summer."""
    hours = Hours.parse("22:00-23:00", "Europe/Athens")
    assert hours.is_open(datetime(2026, 1, 5, 20, 30, tzinfo=UTC))
    assert hours.is_open(datetime(2026, 7, 6, 19, 30, tzinfo=UTC))
    assert not hours.is_open(datetime(2026, 7, 6, 20, 30, tzinfo=UTC))


def test_a_week_of_minutes_agrees_with_the_changes() -> None:
    hours = Hours.parse(NIGHTS, "Europe/Athens")
    moment = datetime(2026, 11, 16, tzinfo=UTC)
    change = hours.changes_at(moment)
    for _ in range(7 * 24 * 60):
        later = moment + timedelta(minutes=1)
        if hours.is_open(later) != hours.is_open(moment):
            assert change == later
            change = hours.changes_at(later)
        moment = later
