"""A page's own change history -> when it is worth another visit, under a daily byte budget.

The estimator is the bias-reduced Poisson rate of Cho and Garcia-Molina, "Estimating Frequency of Change"
(ACM TOIT 3(3), 2003, section 4.2): of n visits at intervals I, X found no change, so the rate is
-ln((X + 0.5) / (n + 0.5)) / I. It stays finite when every visit found a change, and its bias falls with
n where the plain ratio's does not. Intervals are not equal here, so I is their mean.

Visits are allotted as in Cho and Garcia-Molina, "Effective page refresh policies for Web crawlers" (ACM
TODS 28(4), 2003): each page gets the frequency at which one more visit gains the same freshness
everywhere; pages that change too fast to be kept fresh are not chased. The price of a byte is raised
until the budget holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

DAY_SECONDS = 86_400.0


class ChangeHistory(msgspec.Struct, frozen=True):
    """The changes seen by the visits of one page. The first visit shows none: it has no predecessor."""

    visits: float = 0.0  # visits after the first; fractions are evidence that has faded
    changes: float = 0.0  # how many of them found the page changed
    watched_seconds: float = 0.0  # sum of the intervals

    def after(self, changed: bool, interval_seconds: float) -> ChangeHistory:
        """The history after one more visit; old evidence fades so that a page may change its habits."""
        fade = min(1.0, (HISTORY_VISITS_MAX - 1) / max(self.visits, 1.0))
        return ChangeHistory(
            visits=self.visits * fade + 1,
            changes=self.changes * fade + changed,
            watched_seconds=self.watched_seconds * fade + interval_seconds,
        )


HISTORY_VISITS_MAX = 50


class RevisitRules(msgspec.Struct, frozen=True):
    """The bounds within which pages are revisited."""

    interval_seconds_min: float = 3600.0
    interval_seconds_max: float = 30 * DAY_SECONDS
    interval_seconds_first: float = DAY_SECONDS


def changes_per_second(history: ChangeHistory, prior_seconds: float) -> float:
    """The estimated change rate. Before the first revisit: one change in `prior_seconds`."""
    if history.visits == 0 or history.watched_seconds <= 0:
        return 1.0 / prior_seconds
    n, unchanged = history.visits, history.visits - history.changes
    mean_interval = history.watched_seconds / n
    return -math.log((unchanged + 0.5) / (n + 0.5)) / mean_interval


def revisit_seconds(
    history: ChangeHistory,
    rules: RevisitRules,
    price: float = 0.0,
    page_bytes: int = 0,
    hint: float | None = None,
) -> float:
    """Seconds from this visit to the next. `hint` is the frequency in the site's sitemap, used as a prior
    only.

    `price` is the freshness that one byte must buy (see `price_for_budget`); 0 means no budget.
    """
    rate = changes_per_second(history, hint or rules.interval_seconds_first)
    return _interval_seconds(rate, price * page_bytes, rules)


KILLS_DOUBLED_MAX = 6  # times; of 30 days that is more than five years


def killed_seconds(usual_seconds: float, kills_before: int, rules: RevisitRules) -> float:
    """From a visit whose processing was ended to the next: twice as long each time."""
    first = max(usual_seconds, rules.interval_seconds_first)
    return first * 2.0 ** min(kills_before, KILLS_DOUBLED_MAX)


class WatchedPage(msgspec.Struct, frozen=True):
    """Pages of like habits: how many, how fast they change, what a visit costs."""

    pages: int
    rate: float  # changes a second
    page_bytes: float  # a visit's expected bytes: little when it is mostly 304


def price_for_budget(watched: Sequence[WatchedPage], bytes_per_day: float, rules: RevisitRules) -> float:
    """The lowest price of a byte at which all visits fit the budget; 0 when they fit without one."""

    def spent(price: float) -> float:
        return sum(group.pages * _bytes_per_day(group, price, rules) for group in watched)

    if spent(0.0) <= bytes_per_day:
        return 0.0
    low, high = 1e-18, 1e-18
    while spent(high) > bytes_per_day and high < 1e6:
        high *= 4
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) > bytes_per_day else (low, middle)
    return high


def _bytes_per_day(group: WatchedPage, price: float, rules: RevisitRules) -> float:
    interval = _interval_seconds(group.rate, price * group.page_bytes, rules)
    return group.page_bytes * DAY_SECONDS / interval


def _interval_seconds(rate: float, price_of_visit: float, rules: RevisitRules) -> float:
    if rate <= 0:
        wanted = rules.interval_seconds_max
    elif price_of_visit <= 0:
        wanted = 1.0 / rate
    else:
        wanted = _interval_at_price(rate, price_of_visit)
    return min(max(wanted, rules.interval_seconds_min), rules.interval_seconds_max)


def _interval_at_price(rate: float, price_of_visit: float) -> float:
    """The interval t at which one more visit per second gains `price_of_visit` of freshness.

    Freshness at visit frequency f is (f/r)(1 - exp(-r/f)) for change rate r; its derivative by f, with x
    = r t, is (1 - exp(-x) - x exp(-x)) / r. That grows with x up to 1/r; at a higher price the page is
    never visited.
    """
    worth = price_of_visit * rate
    if worth >= 1.0:
        return math.inf
    low, high = 1e-9, 700.0
    for _ in range(60):
        x = (low + high) / 2
        gain = 1.0 - math.exp(-x) - x * math.exp(-x)
        low, high = (x, high) if gain < worth else (low, x)
    return high / rate
