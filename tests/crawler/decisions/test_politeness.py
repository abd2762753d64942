"""Clocks: when the next request may begin, told as tables and short stories."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from ipmicra.crawler.decisions.politeness import (
    BLOCK_SECONDS_MAX,
    PolitenessClock,
    PolitenessPolicy,
    RateOverride,
    after_refusal,
    after_response,
    after_start,
    policy_for,
    retry_after_seconds,
)
from ipmicra.model.urls import Site

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("response_seconds", "crawl_delay", "expected"),
    [
        (0.01, None, 1.0),  # the minimum
        (0.5, None, 2.5),  # five times the response
        (0.5, 10.0, 10.0),  # robots' own
        (3.0, 10.0, 15.0),
        (0.0, 1e9, 86_400.0),  # a day at most
    ],
)
def test_the_pause_is_the_largest_of_three(
    response_seconds: float, crawl_delay: float | None, expected: float
) -> None:
    assert PolitenessPolicy().pause_seconds(response_seconds, crawl_delay) == expected


GRANT = RateOverride(site="e.org:81", requests_per_second=50, connections=4)


@pytest.mark.parametrize(
    ("site", "granted"),
    [("http://e.org:81", True), ("http://e.org", False), ("http://www.e.org:81", False)],
)
def test_a_grant_is_for_the_named_site_alone(site: str, granted: bool) -> None:
    manners = policy_for(Site(site), PolitenessPolicy(), [GRANT])
    assert (manners.connections == 4) is granted
    assert manners.spacing_seconds() == (0.02 if granted else 0.0)


def test_a_grant_does_not_switch_off_crawl_delay() -> None:
    manners = policy_for(Site("http://e.org:81"), PolitenessPolicy(), [GRANT])
    assert manners.pause_seconds(3.0, None) == 0
    assert manners.pause_seconds(0.1, 7.0) == 7.0


def test_granted_requests_are_paced_from_start_to_start() -> None:
    manners = policy_for(Site("http://e.org:81"), PolitenessPolicy(), [GRANT])
    clock = after_start(PolitenessClock(), NOW, manners)
    assert clock.ready_at() == pytest.approx(NOW + 0.02)


def test_an_answer_moves_the_clock_and_never_back() -> None:
    clock = after_response(PolitenessClock(next_at=NOW + 100), NOW, 1.0)
    assert clock.ready_at() == NOW + 100


def test_refusals_double_from_a_minute_to_a_day() -> None:
    clock, now, blocks = PolitenessClock(), NOW, []
    for _ in range(13):
        clock = after_refusal(clock, now, None)
        blocks.append(clock.blocked_until - now)
        now = clock.blocked_until
    assert blocks[:4] == [60, 120, 240, 480]
    assert blocks[-1] == blocks[-2] == BLOCK_SECONDS_MAX


def test_refusals_of_requests_begun_before_the_block_count_once() -> None:
    clock = after_refusal(PolitenessClock(), NOW, None)
    assert after_refusal(clock, NOW + 1, None) == clock


def test_a_block_is_forgotten_after_a_quiet_time() -> None:
    clock = after_refusal(PolitenessClock(), NOW, None)
    soon = after_response(clock, clock.blocked_until + 59, 1.0)
    assert soon.block_seconds == 60
    later = after_response(soon, clock.blocked_until + 60, 1.0)
    assert later.block_seconds == 0
    assert after_refusal(later, NOW + 1000, None).blocked_until == NOW + 1060


def test_an_answer_within_the_quiet_spell_keeps_the_block() -> None:
    clock = after_refusal(PolitenessClock(), NOW, "600")
    assert after_response(clock, NOW + 1, 1.0).ready_at() == NOW + 600
    doubling = after_refusal(PolitenessClock(), NOW, None)
    answered = after_response(doubling, NOW + 1, 1.0)
    assert answered.ready_at() == doubling.ready_at() > NOW + 50
    assert answered.block_seconds == doubling.block_seconds


def http_date(moment: float) -> str:
    return format_datetime(datetime.fromtimestamp(moment, UTC), usegmt=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120.0),
        (" 5 ", 5.0),
        ("0", 1.0),
        ("999999999999999999999", BLOCK_SECONDS_MAX),
        ("9" * 5_000, BLOCK_SECONDS_MAX),
        ("000000000000000120", 120.0),
        (http_date(NOW + 90), 90.0),
        (http_date(NOW - 90), 1.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", BLOCK_SECONDS_MAX),
        ("soon", None),
        ("-3", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, expected: float | None) -> None:
    assert retry_after_seconds(value, NOW) == expected


def test_a_date_without_a_zone_is_utc_wherever_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        asctime = datetime.fromtimestamp(NOW + 90, UTC).strftime("%a %b %d %H:%M:%S %Y")
        assert retry_after_seconds(asctime, NOW) == 90.0
    finally:
        monkeypatch.undo()
        time.tzset()


def test_retry_after_decides_and_does_not_double() -> None:
    clock = after_refusal(PolitenessClock(), NOW, "7")
    assert clock.ready_at() == NOW + 7
    assert after_refusal(clock, NOW + 10, None).blocked_until == NOW + 70


def test_retry_after_that_is_no_time_falls_back_to_a_minute() -> None:
    assert after_refusal(PolitenessClock(), NOW, "whenever").ready_at() == NOW + 60
