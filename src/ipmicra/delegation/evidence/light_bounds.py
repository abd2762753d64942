"""Round trips and distances -> pairs of round trips that cannot belong to one place.

The two round trips from two crawlers to one place add up to at least the time that light in fibre needs
between the crawlers and back. Answers that violate this come from an address in several places (anycast),
or from a crawler that lies.

Invariant: bounds only. With known positions, physics; with only the crawlers' mutual round trip, a share
of it, since routes are not straight and shortcuts through a third place exist.
"""

from __future__ import annotations

from collections.abc import Mapping

from ipmicra.delegation.crawlers import Crawlers
from ipmicra.model.ids import CrawlerId
from ipmicra.model.positions import BLUR_KM_MAX

# Light in fibre travels at two thirds of its speed in vacuum, 200 km per millisecond: there and back 100.
FIBRE_KM_PER_ROUND_TRIP_MS = 100.0
# In vacuum, 299.8 km per millisecond: there and back half of it. Nothing is faster.
VACUUM_KM_PER_ROUND_TRIP_MS = 149.9
# Without positions: a detour through a third place may be shorter than the direct route, but hardly ever
# by more than half of it.
SHORTCUT_SHARE = 0.5


def min_sum_ms(crawlers: Crawlers, one: CrawlerId, other: CrawlerId) -> float:
    """The least sum of two round trips to one place from these two crawlers."""
    here, there = crawlers.profile(one).position, crawlers.profile(other).position
    if here is not None and there is not None:
        return here.distance_km(there) / FIBRE_KM_PER_ROUND_TRIP_MS
    return SHORTCUT_SHARE * (crawlers.mutual_ms(one, other) or 0.0)


def infeasible_pair(
    crawlers: Crawlers, crawler: CrawlerId, round_trips_ms: Mapping[CrawlerId, float]
) -> tuple[()] | tuple[CrawlerId, CrawlerId]:
    """The crawler and another one whose round trips cannot both be to one place; else empty."""
    own_ms = round_trips_ms.get(crawler)
    if own_ms is None:
        return ()
    for other, other_ms in round_trips_ms.items():
        present = crawler in crawlers and other in crawlers
        if other != crawler and present and _too_near(crawlers, crawler, other, own_ms + other_ms):
            return crawler, other
    return ()


def _too_near(crawlers: Crawlers, one: CrawlerId, other: CrawlerId, both_ms: float) -> bool:
    """Whether two round trips to one place are too short for the distance between the crawlers.

    If the distance is known from round trips only, a bad route makes two crawlers look far apart; a
    shorter path through a third crawler reveals that.
    """
    if both_ms >= min_sum_ms(crawlers, one, other):
        return False
    placed = crawlers.profile(one).position is not None and crawlers.profile(other).position is not None
    return placed or both_ms < SHORTCUT_SHARE * crawlers.detour_ms(one, other)


def faster_than_light(
    crawlers: Crawlers, one: CrawlerId, other: CrawlerId, round_trip_ms: float
) -> bool:
    """Whether two crawlers report a round trip below what light allows between their blurred positions."""
    here, there = crawlers.profile(one).position, crawlers.profile(other).position
    if here is None or there is None:
        return False
    least_km = max(0.0, here.distance_km(there) - 2 * BLUR_KM_MAX)
    return round_trip_ms < least_km / VACUUM_KM_PER_ROUND_TRIP_MS
