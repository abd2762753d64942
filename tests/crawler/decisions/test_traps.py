"""A calendar's year is looked for in what the site chose: not in its name or port."""

from __future__ import annotations

import pytest

from ipmicra.crawler.decisions.traps import trap_in
from ipmicra.model.urls import Url


@pytest.mark.parametrize(
    ("url", "trapped"),
    [
        ("https://a.org/calendar/1844/3", True),
        ("https://a.org/calendar/2026/3", False),
        ("https://127.0.1.2:18443/gtk3/GtkCalendar.html", False),
        ("https://a.org:18443/calendar/2026/3", False),
        ("https://calendar.org/list?year=1844", True),
    ],
)
def test_calendar_pages_far_from_today_are_traps(url: str, trapped: bool) -> None:
    assert (trap_in(Url(url), this_year=2026) is not None) is trapped
