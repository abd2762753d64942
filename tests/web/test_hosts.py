"""Hosts, their hours and what an operator may do: as strangers and operators see them."""

from __future__ import annotations

import pytest

from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.store import events, hosts
from ipmicra.web.pages.hours import hours_of, week
from tests.web.dashboard_harness import DashboardHarness

HOSTILE = "<script>alert(1)</script>"
RULES = {"hours": "mon-fri 22:00-06:00 (Europe/Athens)", "a day": "5,000,000 bytes", "own sites": "none"}


def test_without_hosts_the_page_says_how_to_get_the_first(scene: DashboardHarness) -> None:
    assert "Register the first host" in scene.get("/hosts").text


def test_a_host_is_shown_with_its_hours_and_limits(scene: DashboardHarness) -> None:
    scene.join("lima", rules=RULES, pages=42)
    listed = scene.get("/hosts").text
    assert 'href="/hosts/lima"' in listed
    assert "mon-fri 22:00-06:00 (Europe/Athens)" in listed
    page = scene.get("/hosts/lima").text
    assert "5,000,000 bytes" in page
    assert page.count('class="open"') == 5 * 8, "ten at night to six in the morning"


@pytest.mark.parametrize(
    ("state", "word"),
    [("awake", "awake"), ("asleep", "asleep"), ("silent", "silent"), ("new", "registered")],
)
def test_how_a_host_is_can_be_seen_at_a_glance(scene: DashboardHarness, state: str, word: str) -> None:
    if state == "new":
        with scene.database.begin() as connection:
            hosts.register(connection, "lima", "token", scene.now_s, 60)
    else:
        scene.join("lima", awake=state == "awake")
    if state == "silent":
        scene.now_s += 10_000
    assert f">{word}</span>" in scene.get("/hosts").text


def test_contact_address_and_buttons_are_for_operators(scene: DashboardHarness) -> None:
    with scene.database.begin() as connection:
        hosts.register(connection, "oslo", "token", scene.now_s, 60, "owner@example.org")
        hosts.enrol(connection, "token", b"k" * 32, "192.0.2.77", scene.now_s)
        events.record(connection, events.EventKind.HOST_ENROLLED, "oslo", "from 192.0.2.77", scene.now_s)
    for page in ("/hosts", "/hosts/oslo", "/", "/packages", "/errors"):
        text = scene.get(page).text
        assert "owner@example.org" not in text
        assert "192.0.2.77" not in text
        assert "<form" not in text.replace('<form class="finder"', "")
    scene.sign_in()
    page = scene.get("/hosts/oslo").text
    assert "owner@example.org" in page
    assert "192.0.2.77" in page
    for wanted in ("pause", "retire", "revoke"):
        assert f'action="/admin/hosts/oslo/{wanted}"' in page


def test_a_host_that_is_not_there_is_a_page_that_says_so(scene: DashboardHarness) -> None:
    answer = scene.get("/hosts/nobody")
    assert answer.status_code == 404
    assert "There is no such page" in answer.text


def test_nothing_that_a_host_reports_comes_out_as_markup(scene: DashboardHarness) -> None:
    said = {"hours": HOSTILE, HOSTILE: HOSTILE}
    scene.join("lima", rules=said, version=HOSTILE)
    for page in ("/hosts", "/hosts/lima"):
        text = scene.get(page).text
        assert HOSTILE not in text
        assert "&lt;script&gt;" in text


@pytest.mark.parametrize("report", [{"rules": 7}, {"pages": "many"}, {"rules": {"hours": "(("}}])
def test_a_report_in_strange_words_is_shown_as_far_as_it_goes(
    scene: DashboardHarness, report: dict[str, object]
) -> None:
    scene.join("lima")
    with scene.database.begin() as connection:
        hosts.save_report(connection, "lima", report)
    assert scene.get("/hosts").status_code == 200
    assert scene.get("/hosts/lima").status_code == 200


def test_a_week_is_drawn_hour_by_hour() -> None:
    hours = hours_of("always (UTC)")
    assert hours is not None
    assert str(week(hours)).count('class="open"') == 7 * 24
    assert hours_of("always") is None
    assert hours_of("sometimes (UTC)") is None


def test_where_a_host_calls_from_is_told_as_data_to_operators_only(scene: DashboardHarness) -> None:
    scene.join("oslo")
    with scene.database.begin() as connection:
        hosts.register(connection, "lima", "token", scene.now_s, 60)
        hosts.enrol(connection, "token", b"k" * 32, "192.0.2.77", scene.now_s)
        events.record(connection, events.EventKind.HOST_ENROLLED, "lima", "from 192.0.2.77", scene.now_s)
    assert "192.0.2.77" not in scene.get("/v1/status").text
    scene.cookies.set(sessions.SESSION_COOKIE, "made up")
    assert "192.0.2.77" not in scene.get("/v1/status").text
    scene.strange().sign_in()
    assert scene.get("/v1/status").text.count("192.0.2.77") == 2
