"""Strategies that ask no one: random and hash, their weights, and how little moves."""

from __future__ import annotations

from collections import Counter

import msgspec

from ipmicra.delegation.decision import Why
from ipmicra.delegation.strategy import Strategy
from tests.delegation.worlds import crawler, driven, strategy_with, target, told

SITES = [f"site-{number}.example" for number in range(4000)]


def owners(strategy: Strategy) -> dict[str, str | None]:
    nobody = told({})
    return {
        site: driven(strategy.delegate(target("192.0.2.1", site), 0.0), nobody).crawler for site in SITES
    }


def test_a_random_choice_once_made_is_kept() -> None:
    strategy = strategy_with("random", "a b c d e f")
    first = driven(strategy.delegate(target("192.0.2.1"), 0.0), told({}))
    again = driven(strategy.delegate(target("192.0.2.1"), 9.0), told({}))
    assert (first.why, again.why) == (Why.DRAWN, Why.ALREADY_DELEGATED)
    assert first.crawler == again.crawler


def test_a_newcomer_takes_only_what_it_wins_and_nothing_else_moves() -> None:
    strategy = strategy_with("hash", "a b c d")
    before = owners(strategy)
    strategy.on_crawler_joined(strategy.crawlers.profile(crawler("a")).__class__(crawler("e")))
    after = owners(strategy)
    moved = {site for site in SITES if before[site] != after[site]}
    assert {after[site] for site in moved} == {"e"}
    assert 0.17 < len(moved) / len(SITES) < 0.23  # a fifth, and no more


def test_a_leaver_gives_up_only_what_it_had() -> None:
    strategy = strategy_with("hash", "a b c d e")
    before = owners(strategy)
    strategy.on_crawler_left(crawler("c"))
    after = owners(strategy)
    moved = {site for site in SITES if before[site] != after[site]}
    assert moved == {site for site in SITES if before[site] == "c"}


def test_weights_are_shares() -> None:
    strategy = strategy_with("hash", "a b")
    strategy.on_crawler_joined(
        msgspec.structs.replace(strategy.crawlers.profile(crawler("b")), weight=3.0)
    )
    count = Counter(owners(strategy).values())
    assert 0.72 < count["b"] / len(SITES) < 0.78
