"""Bytes times milliseconds against hashing, as tables."""

from __future__ import annotations

import pytest

from ipmicra.coordinator.store.delegations import DecisionReasons, DelegationRow
from ipmicra.coordinator.store.traffic import SiteTraffic
from ipmicra.coordinator.views.savings import Savings, savings

SITE = "https://a.example"


def decided(crawler: str, site: str = SITE, **round_trips_ms: float) -> DelegationRow:
    probes = tuple((name, ms, "") for name, ms in round_trips_ms.items())
    reasons = DecisionReasons(why="test", words="", strategy="", site=site, probes=probes)
    return DelegationRow(unit=site, crawler=crawler, decided_s=0.0, reasons=reasons)


@pytest.mark.parametrize(
    ("story", "decision", "crawlers", "spent", "hashed"),
    [
        ("both were asked", decided("oslo", oslo=10, lima=200), ["oslo", "lima"], 10, 105),
        ("alone, hashing would choose the same", decided("oslo", oslo=10), ["oslo"], 10, 10),
        (
            "who was not asked is a stranger",
            decided("oslo", oslo=10, lima=200),
            ["oslo", "lima", "osaka"],
            10,
            (10 + 200 + 200) / 3,
        ),
        ("nothing is known of others", decided("oslo", oslo=10), ["oslo", "lima"], 10, 10),
        ("unprobed, its fetches tell", decided("oslo", lima=200), ["oslo", "lima"], 12, 106),
    ],
)
def test_hashing_costs_the_mean_over_all_crawlers(
    story: str, decision: DelegationRow, crawlers: list[str], spent: float, hashed: float
) -> None:
    carried = [SiteTraffic(SITE, "oslo", 1000, 12_000.0)]
    found = savings(carried, {SITE: decision}, crawlers)
    assert (found.spent_byte_ms, found.hashed_byte_ms) == pytest.approx((1000 * spent, 1000 * hashed)), (
        story
    )


def test_sites_that_nobody_decided_about_are_left_out_on_both_sides() -> None:
    assert savings([SiteTraffic(SITE, "oslo", 1000, 12_000.0)], {}, ["oslo", "lima"]) == Savings()
    assert savings([SiteTraffic(SITE, "oslo", 0, 0.0)], {SITE: decided("oslo")}, ["oslo"]) == Savings()


def test_a_share_is_of_what_hashing_costs() -> None:
    assert Savings(25.0, 100.0).saved_share == 0.75
    assert Savings().saved_share is None
