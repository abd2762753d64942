"""Anycast, liars, dead targets, remembered answers: what every strategy that learns must bear."""

from __future__ import annotations

import pytest

from ipmicra.delegation.calibration import Calibration, CalibrationSettings, recalibrate
from ipmicra.delegation.crawlers import CrawlerProfile, GeoPosition
from ipmicra.delegation.decision import Why
from ipmicra.delegation.driver import drive
from ipmicra.delegation.evidence.trust import CONTRADICTIONS_MIN
from ipmicra.delegation.strategies.learning_strategy import LearningStrategy
from ipmicra.delegation.strategy import Strategy
from tests.delegation.worlds import crawler, driven, never_asked, strategy_with, target, told

ATHENS, TOKYO, LIMA = GeoPosition(38.0, 23.7), GeoPosition(35.7, 139.7), GeoPosition(-12.0, -77.0)
SPECS = ["first-fit@1/order=joined", "ipmicra@1"]
every_spec = pytest.mark.parametrize("spec", SPECS)


def around_the_world(spec: str) -> Strategy:
    strategy = strategy_with(spec, "")
    for name, place in (("athens", ATHENS), ("tokyo", TOKYO), ("lima", LIMA)):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), position=place))
    return strategy


@every_spec
def test_an_address_near_to_two_distant_crawlers_is_anycast_and_goes_to_the_lighter(spec: str) -> None:
    strategy = around_the_world(spec)
    strategy.on_crawler_joined(
        CrawlerProfile(crawler("athens"), position=ATHENS, capacity_bytes_a_day=100.0)
    )
    strategy.on_crawler_loaded(crawler("athens"), 90.0)
    decision = driven(
        strategy.delegate(target("192.0.2.1"), 0.0), told({"athens": 3, "tokyo": 4, "lima": 150})
    )
    assert (decision.crawler, decision.why) == ("tokyo", Why.ANYCAST)
    assert "cannot both be this near" in decision.explanation()


@every_spec
def test_anycast_is_never_moved_for_latency(spec: str) -> None:
    strategy = around_the_world(spec)
    driven(strategy.delegate(target("192.0.2.1"), 0.0), told({"athens": 3, "tokyo": 4, "lima": 3}))
    talk = recalibrate(strategy, Calibration(CalibrationSettings()), target("192.0.2.1"), 900.0, 1.0)
    assert drive(talk, never_asked) is None


@every_spec
def test_without_positions_the_mutual_round_trip_tells_anycast(spec: str) -> None:
    strategy = strategy_with(spec, "a b")
    strategy.on_crawlers_measured(crawler("a"), crawler("b"), 200.0)
    decision = driven(strategy.delegate(target("192.0.2.1"), 0.0), told({"a": 5, "b": 6}))
    assert decision.why is Why.ANYCAST


@every_spec
def test_a_distant_target_between_two_crawlers_is_not_anycast(spec: str) -> None:
    decision = driven(
        around_the_world(spec).delegate(target("192.0.2.1"), 0.0),
        told({"athens": 90, "tokyo": 120, "lima": 150}),
    )
    assert (decision.crawler, decision.why) == ("athens", Why.FASTEST_OF_ALL)


def test_mutual_round_trips_faster_than_light_are_not_believed() -> None:
    strategy = around_the_world("ipmicra")
    strategy.on_crawlers_measured(
        crawler("athens"), crawler("tokyo"), 20.0
    )  # light needs 63 ms there and back
    strategy.on_crawlers_measured(crawler("athens"), crawler("lima"), 180.0)
    assert strategy.crawlers.mutual_ms(crawler("athens"), crawler("tokyo")) is None
    assert strategy.crawlers.mutual_ms(crawler("lima"), crawler("athens")) == 180.0


def lying_world() -> Strategy:
    """Five crawlers far apart; `liar` says 1 ms to everything, the others each have sites of their own."""
    strategy = strategy_with("first-fit@0.5", "")
    places = [GeoPosition(0.0, longitude) for longitude in (-150.0, -75.0, 0.0, 75.0)]
    for name, place in zip("abcd", places, strict=True):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), position=place))
    strategy.on_crawler_joined(CrawlerProfile(crawler("liar"), position=GeoPosition(0.0, 150.0)))
    for number in range(80):
        near = "abcd"[number % 4]
        world = {name: 5.0 if name == near else 200.0 for name in "abcd"} | {"liar": 1.0}
        driven(strategy.delegate(target(f"192.0.{number // 200}.{number % 200}"), 0.0), told(world))
    return strategy


def test_a_crawler_that_claims_to_be_near_to_everything_is_found_out_and_asked_no_more() -> None:
    strategy = lying_world()
    assert strategy.trust.distrusted == ("liar",)
    decision = driven(strategy.delegate(target("198.51.100.1"), 0.0), told(dict.fromkeys("abcd", 100.0)))
    assert "liar" not in [name for name, _ in decision.probes]
    assert decision.crawler in ("a", "b", "c", "d")


def test_a_liar_who_left_and_came_back_begins_again() -> None:
    strategy = lying_world()
    strategy.on_crawler_left(crawler("liar"))
    assert strategy.trust.distrusted == ()


def test_many_anycast_addresses_make_nobody_a_liar() -> None:
    strategy = strategy_with("first-fit@0.5", "")
    for name, longitude in zip("abcde", (-150.0, -75.0, 0.0, 75.0, 150.0), strict=True):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), position=GeoPosition(0.0, longitude)))
    for number in range(10 * CONTRADICTIONS_MIN):
        decision = driven(
            strategy.delegate(target(f"192.0.{number // 200}.{number % 200}"), 0.0),
            told(dict.fromkeys("abcde", 3.0)),
        )
        assert decision.why is Why.ANYCAST
    assert strategy.trust.distrusted == ()


@every_spec
def test_three_silences_are_enough_and_the_dead_are_tried_again_later(spec: str) -> None:
    strategy = strategy_with(spec, "a b c d e f g h")
    dead = driven(strategy.delegate(target("192.0.2.1"), 0.0), told({}))
    soon = driven(strategy.delegate(target("192.0.2.1"), 60.0), told({"a": 9}))
    later = driven(strategy.delegate(target("192.0.2.1"), 7200.0), told(dict.fromkeys("abcdefgh", 9.0)))
    assert (dead.why, len(dead.probes)) == (Why.UNREACHABLE, 3)
    assert (soon.why, soon.probes) == (Why.UNREACHABLE, ())
    assert later.crawler is not None


@every_spec
def test_one_answer_among_silences_is_enough_to_go_on(spec: str) -> None:
    strategy = strategy_with(spec, "a b c d e f g h")
    decision = driven(strategy.delegate(target("192.0.2.1"), 0.0), told({"a": 9.0}))
    if decision.crawler is not None:
        assert (decision.crawler, len(decision.probes)) == ("a", 8)
    else:
        assert "a" not in [name for name, _ in decision.probes]


def test_after_the_owner_left_remembered_answers_are_used_before_any_probe() -> None:
    strategy = strategy_with("first-fit@50/order=joined", "a b c")
    driven(strategy.delegate(target("192.0.2.1"), 0.0), told({"a": 60, "b": 55, "c": 20}))
    strategy.on_crawler_left(crawler("c"))
    after = driven(strategy.delegate(target("192.0.2.1"), 1.0), told({}))
    assert (after.crawler, after.probes, after.round_trip_ms) == ("b", (), 55.0)


def test_remembered_answers_grow_too_old() -> None:
    strategy = strategy_with("first-fit@50/order=joined/remember_s=100", "a b c")
    driven(strategy.delegate(target("192.0.2.1"), 0.0), told({"a": 60, "b": 55, "c": 20}))
    strategy.on_crawler_left(crawler("c"))
    after = driven(strategy.delegate(target("192.0.2.1"), 200.0), told({"a": 10, "b": 12}))
    assert (after.crawler, len(after.probes)) == ("a", 1)


def test_a_site_with_several_addresses_is_located_by_the_same_one_whatever_their_order() -> None:
    one, other = target("192.0.2.1").address, target("198.51.100.1").address
    strategy = strategy_with("first-fit", "a b c")
    assert isinstance(strategy, LearningStrategy)
    here = target("192.0.2.1").of("many.example", one, other)
    there = target("192.0.2.1").of("many.example", other, one)
    assert here.address == there.address
    first = driven(strategy.delegate(here, 0.0), told(dict.fromkeys("abc", 5.0)))
    assert driven(strategy.delegate(there, 0.0), told({})).crawler == first.crawler
