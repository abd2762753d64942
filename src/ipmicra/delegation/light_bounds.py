"""Round trips and distances -> what cannot be true of a thing in one place.

A target in one place cannot be nearer to two crawlers together than they are to each other: their two
round trips add up to at least the time light in fibre needs between them and back. Answers that break
this come from an address that is in many places at once (anycast), or from a crawler that lies.

Law: bounds only. Where positions are known, physics; where only the crawlers' mutual round trip is
known, a share of it, since routes are not straight and shortcuts through a third place exist.
"""

from __future__ import annotations

from collections.abc import Mapping

from ipmicra.delegation.crawlers import Crawlers
from ipmicra.model.ids import CrawlerId

# Light in fibre runs at two thirds of its speed in vacuum, 200 km a millisecond: there and back 100.
FIBRE_KM_PER_ROUND_TRIP_MS = 100.0
# In vacuum, 299.8 km a millisecond: there and back half of it. Nothing is faster.
VACUUM_KM_PER_ROUND_TRIP_MS = 149.9
# Without positions: a detour by a third place may be shorter than the direct route, hardly ever
# by more than half of it.
SHORTCUT_SHARE = 0.5


def between_ms(crawlers: Crawlers, one: CrawlerId, other: CrawlerId) -> float:
    """The least that two round trips to one place, from these two crawlers, can add up to."""
    here, there = crawlers.profile(one).position, crawlers.profile(other).position
    if here is not None and there is not None:
        return here.distance_km(there) / FIBRE_KM_PER_ROUND_TRIP_MS
    return SHORTCUT_SHARE * (crawlers.mutual_ms(one, other) or 0.0)


def contradicting(
    crawlers: Crawlers, crawler: CrawlerId, round_trips_ms: Mapping[CrawlerId, float]
) -> tuple[()] | tuple[CrawlerId, CrawlerId]:
    """The crawler and another whose round trips cannot both be to one place; else nothing."""
    own_ms = round_trips_ms.get(crawler)
    if own_ms is None:
        return ()
    for other, other_ms in round_trips_ms.items():
        present = crawler in crawlers and other in crawlers
        if other != crawler and present and _too_near(crawlers, crawler, other, own_ms + other_ms):
            return crawler, other
    return ()


def _too_near(crawlers: Crawlers, one: CrawlerId, other: CrawlerId, both_ms: float) -> bool:
    """Whether two round trips to one place are too short for how far the crawlers are from each other.

    Where that is known by round trips alone, a bad route makes two crawlers look far from each other; a way
    by a third crawler that is shorter gives it away.
    """
    if both_ms >= between_ms(crawlers, one, other):
        return False
    placed = crawlers.profile(one).position is not None and crawlers.profile(other).position is not None
    return placed or both_ms < SHORTCUT_SHARE * crawlers.detour_ms(one, other)


def faster_than_light(
    crawlers: Crawlers, one: CrawlerId, other: CrawlerId, round_trip_ms: float
) -> bool:
    """Whether two crawlers say they are nearer to each other than light allows between their places."""
    here, there = crawlers.profile(one).position, crawlers.profile(other).position
    if here is None or there is None:
        return False
    return round_trip_ms < here.distance_km(there) / VACUUM_KM_PER_ROUND_TRIP_MS
