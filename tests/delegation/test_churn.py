"""Crawlers come and go: what changes hands, at what cost, and what does not."""

from __future__ import annotations

from ipmicra.delegation.churn import (
    NewcomerOffer,
    Reassignment,
    offer_to_newcomer,
    reassign_from_leaver,
)
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.driver import drive
from ipmicra.delegation.strategy import Strategy
from tests.delegation.worlds import crawler, driven, strategy_with, target, told

NEAR_A, NEAR_B, AWAY = target("192.0.2.1"), target("192.0.2.2"), target("192.0.2.3")


def settled_strategy() -> Strategy:
    strategy = strategy_with("brute-force", "a b c")
    driven(strategy.delegate(NEAR_A, 0.0), told({"a": 10, "b": 30, "c": 90}))
    driven(strategy.delegate(NEAR_B, 0.0), told({"a": 40, "b": 5, "c": 90}))
    driven(strategy.delegate(AWAY, 0.0), told({"a": 80, "b": 85, "c": 100}))
    return strategy


def test_the_units_of_a_leaving_crawler_go_to_the_next_best_without_a_probe() -> None:
    strategy = settled_strategy()
    left = reassign_from_leaver(strategy, crawler("a"))
    assert left == (
        Reassignment(NEAR_A.address, crawler("b"), 20.0),
        Reassignment(AWAY.address, crawler("b"), 5.0),
    )
    assert [strategy.owner_of(site) for site in (NEAR_A, NEAR_B, AWAY)] == ["b", "b", "b"]


def test_a_sleeper_inherits_nothing() -> None:
    strategy = settled_strategy()
    strategy.on_crawler_slept(crawler("b"))
    assert [successor for _, successor, _ in reassign_from_leaver(strategy, crawler("a"))] == ["c", "c"]


def test_what_nobody_remembers_waits_for_its_next_site() -> None:
    strategy = strategy_with("random", "a b")
    owner = driven(strategy.delegate(NEAR_A, 0.0), told({})).crawler
    assert owner is not None
    assert reassign_from_leaver(strategy, owner) == (Reassignment(NEAR_A.address, None, None),)
    assert strategy.owner_of(NEAR_A) is None


def offered(strategy: Strategy, world: dict[str, float], probes_max: int = 9) -> NewcomerOffer:
    targets = {strategy.unit_of(site): site for site in (NEAR_A, NEAR_B, AWAY)}
    talk = offer_to_newcomer(strategy, crawler("new"), targets, 1.0, probes_max=probes_max)
    return drive(talk, told(world))


def joined() -> Strategy:
    """A newcomer far from a and b, where only the site that is far from everyone may be near to it."""
    strategy = settled_strategy()
    strategy.on_crawler_joined(CrawlerProfile(crawler("new")))
    for name, apart_ms in (("a", 90.0), ("b", 95.0), ("c", 110.0)):
        strategy.on_crawlers_measured(crawler("new"), crawler(name), apart_ms)
    return strategy


def test_a_newcomer_is_asked_only_about_what_may_be_nearer_and_takes_what_is() -> None:
    strategy = joined()
    done = offered(strategy, {"new": 12.0})
    assert done == NewcomerOffer(1, ((AWAY.address, crawler("a"), 68.0),))
    assert [strategy.owner_of(site) for site in (NEAR_A, NEAR_B, AWAY)] == ["a", "b", "new"]


def test_a_newcomer_that_is_no_nearer_takes_nothing() -> None:
    strategy = joined()
    assert offered(strategy, {"new": 79.0}) == NewcomerOffer(1, ())
    assert strategy.owner_of(AWAY) == "a"


def test_the_offers_keep_to_their_budget() -> None:
    assert offered(joined(), {"new": 12.0}, probes_max=0) == NewcomerOffer(0, ())
