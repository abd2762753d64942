"""Round trips that an address in one place cannot have, and those that only look like it."""

from __future__ import annotations

from ipmicra.delegation.crawlers import CrawlerProfile, Crawlers
from ipmicra.delegation.evidence.light_bounds import infeasible_pair
from ipmicra.model.ids import CrawlerId

LONDON, HAIFA, PARIS = (CrawlerId(name) for name in ("london", "haifa", "paris"))
DUBLIN_MS = {LONDON: 16.0, HAIFA: 63.0}  # a site's round trips


def crawlers_apart(**mutual_ms: float) -> Crawlers:
    """Crawlers of unknown positions and their round trips to each other, by the names of both."""
    crawlers = Crawlers()
    for crawler in (LONDON, HAIFA, PARIS):
        crawlers.join(CrawlerProfile(crawler))
    for pair, ms in mutual_ms.items():
        one, other = pair.split("_")
        crawlers.measure(CrawlerId(one), CrawlerId(other), ms)
    return crawlers


def test_two_short_round_trips_contradict_a_long_way_between() -> None:
    assert infeasible_pair(crawlers_apart(london_haifa=211.0), LONDON, DUBLIN_MS) == (LONDON, HAIFA)


def test_a_bad_route_between_two_crawlers_is_given_away_by_a_third() -> None:
    crawlers = crawlers_apart(london_haifa=211.0, london_paris=15.0, paris_haifa=52.0)
    assert infeasible_pair(crawlers, LONDON, DUBLIN_MS) == ()


def test_a_third_crawler_on_a_long_way_excuses_nothing() -> None:
    crawlers = crawlers_apart(london_haifa=211.0, london_paris=150.0, paris_haifa=52.0)
    assert infeasible_pair(crawlers, LONDON, DUBLIN_MS) == (LONDON, HAIFA)
