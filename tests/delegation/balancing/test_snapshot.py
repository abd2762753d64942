"""From a strategy to loads and back: what is balanced is what is delegated."""

from __future__ import annotations

from ipmicra.delegation.balancing import POLICIES
from ipmicra.delegation.balancing.snapshot import CompletedMove, UnitLoad, balanced
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.driver import drive
from ipmicra.delegation.strategy import Strategy
from tests.delegation.worlds import Teller, crawler, driven, strategy_with, target, told

SITES = [target(f"192.0.2.{number}") for number in range(4)]


def full_strategy() -> Strategy:
    """Four sites, all nearest to `a`, which has room for two."""
    strategy = strategy_with("brute-force", "b")
    strategy.on_crawler_joined(CrawlerProfile(crawler("a"), capacity_bytes_a_day=200.0))
    strategy.on_crawlers_measured(crawler("a"), crawler("b"), 30.0)
    for number, site in enumerate(SITES):
        driven(strategy.delegate(site, 0.0), told({"a": 10.0, "b": 20.0 + 10 * number}))
    return strategy


def weighed(strategy: Strategy) -> dict[DelegationUnit, UnitLoad]:
    return {strategy.unit_of(site): UnitLoad(100.0, site) for site in SITES}


def moves(strategy: Strategy, policy: str, tell: Teller) -> tuple[CompletedMove, ...]:
    talk = balanced(strategy, weighed(strategy), POLICIES[policy], 1.0)
    return drive(talk, tell)


def test_what_costs_least_to_move_is_moved_and_delegated() -> None:
    strategy = full_strategy()
    moved = moves(strategy, "assignment", told({}))
    assert moved == tuple(CompletedMove(site.address, crawler("a"), crawler("b")) for site in SITES[:2])
    assert [strategy.owner_of(site) for site in SITES] == ["b", "b", "a", "a"]


def test_nothing_is_moved_to_a_sleeper() -> None:
    strategy = full_strategy()
    strategy.on_crawler_slept(crawler("b"))
    assert moves(strategy, "assignment", told({})) == ()


def test_ours_learns_what_it_asked() -> None:
    strategy = full_strategy()
    strategy.on_crawler_joined(CrawlerProfile(crawler("c")))
    strategy.on_crawlers_measured(crawler("a"), crawler("c"), 12.0)
    strategy.on_crawlers_measured(crawler("b"), crawler("c"), 25.0)
    moves(strategy, "assign-and-probe", told({"c": 11.0}))
    assert sorted(str(strategy.owner_of(site)) for site in SITES) == ["a", "a", "c", "c"]
    assert crawler("c") in strategy.measurements.of_address(SITES[0].address)
