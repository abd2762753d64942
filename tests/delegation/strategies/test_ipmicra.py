"""The published algorithm, rule by rule, and the worked example of the paper's figure 2."""

from __future__ import annotations

import pytest

from ipmicra.addresses import AddressRange
from ipmicra.delegation.crawlers import CrawlerProfile
from ipmicra.delegation.decision import Decision, Why
from ipmicra.delegation.strategy import Strategy
from ipmicra.hierarchy import Subnet, SubnetTree
from ipmicra.testing.strategy_referee import tree_of
from tests.delegation.worlds import (
    Teller,
    address,
    crawler,
    driven,
    strategy_with,
    target,
    told,
)

# Figure 2 of the paper: 8 lies in 2 and holds 11, 12 (unary), 13 and 14. Of 2 and 8 the text gives the
# bounds; those of 11, 13 and 14 are free, and so are 3 (beside 2) and 9 (beside 8).
FIGURE_2 = tree_of(
    ("12.0.0.1 - 18.255.255.255", "company 0"),  # 2
    ("19.0.0.0 - 22.255.255.255", "company 5"),  # 3
    ("14.0.0.1 - 16.255.255.255", "company 3"),  # 8
    ("17.0.0.0 - 17.255.255.255", "company 4"),  # 9
    ("14.1.0.0/16", "company 1"),  # 11
    ("15.10.0.7", "company 3"),  # 12
    ("16.1.0.0/16", "company 2"),  # 13
    ("16.2.0.0/16", "company 6"),  # 14
)
NEW_URL = target("15.10.0.7")


def subnet(text: str, tree: SubnetTree = FIGURE_2) -> Subnet:
    wanted = AddressRange.parse(text)
    return next(s for s in map(Subnet, tree.subnets(4)) if tree.range_of(s) == wanted)


def figure_2(spec: str = "ipmicra@50") -> Strategy:
    """x lives in 11, y in 13, z far away in 3."""
    strategy = strategy_with(spec, "", FIGURE_2)
    for name, home in (("x", "14.1.0.5"), ("y", "16.1.0.5"), ("z", "20.0.0.1")):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), address(home)))
    return strategy


def asked(decision: Decision) -> str:
    return " ".join(name for name, _ in decision.probes)


def test_a_crawler_holds_the_subnet_of_its_host_from_the_start() -> None:
    strategy = figure_2()
    assert strategy.delegations.owner(subnet("14.1.0.0/16")) == "x"
    assert strategy.delegations.owner(subnet("16.1.0.0/16")) == "y"


def test_figure_2_the_holders_of_11_and_13_are_asked_and_8_goes_together_with_12() -> None:
    strategy = figure_2()
    decision = driven(strategy.delegate(NEW_URL, 0.0), told({"x": 70, "y": 30, "z": 5}))
    eight, twelve = subnet("14.0.0.1 - 16.255.255.255"), subnet("15.10.0.7")
    assert asked(decision) == "x y"
    assert (decision.crawler, decision.why) == ("y", Why.BELOW_THRESHOLD)
    assert decision.subnets == (twelve, eight)
    assert [strategy.delegations.owner(s) for s in (twelve, eight)] == ["y", "y"]


def test_figure_2_lower_delegations_stay_and_14_stays_undelegated() -> None:
    strategy = figure_2()
    driven(strategy.delegate(NEW_URL, 0.0), told({"x": 70, "y": 30}))
    assert strategy.delegations.owner(subnet("14.1.0.0/16")) == "x"
    assert strategy.delegations.owner(subnet("16.2.0.0/16")) is None
    in_11 = driven(strategy.delegate(target("14.1.9.9"), 0.0), told({}))
    assert (in_11.crawler, in_11.probes) == ("x", ())


def test_figure_2_when_neither_is_near_the_climb_goes_on_to_the_rest() -> None:
    strategy = figure_2()
    decision = driven(strategy.delegate(NEW_URL, 0.0), told({"x": 70, "y": 60, "z": 5}))
    assert (asked(decision), decision.crawler) == ("x y z", "z")


def test_when_all_were_asked_and_none_is_below_the_threshold_the_fastest_gets_it() -> None:
    strategy = figure_2()
    decision = driven(strategy.delegate(NEW_URL, 0.0), told({"x": 70, "y": 60, "z": 90}))
    assert (decision.crawler, decision.why, len(decision.probes)) == ("y", Why.FASTEST_OF_ALL, 3)


def test_a_second_url_of_a_delegated_subnet_costs_no_probe() -> None:
    strategy = figure_2()
    driven(strategy.delegate(NEW_URL, 0.0), told({"x": 70, "y": 30}))
    again = driven(strategy.delegate(target("15.200.0.1"), 1.0), told({}))
    assert (again.crawler, again.why, again.probes) == ("y", Why.ALREADY_DELEGATED, ())


def test_the_delegated_parent_is_asked_before_the_siblings() -> None:
    tree = tree_of(("10.0.0.0/8", "p"), ("10.1.0.0/16", "q"), ("10.2.0.0/16", "r"))
    strategy = strategy_with("ipmicra@50", "", tree)
    for name, home in (("sibling", "10.1.0.1"), ("above", "10.9.0.1")):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), address(home)))
    decision = driven(strategy.delegate(target("10.2.0.1"), 0.0), told({"above": 20, "sibling": 10}))
    assert asked(decision) == "above"


def test_the_siblings_children_are_asked_after_the_siblings() -> None:
    tree = tree_of(
        ("10.0.0.0/8", "p"),
        ("10.1.0.0/16", "q"),
        ("10.1.1.0/24", "r"),
        ("10.2.0.0/16", "s"),
        ("10.3.0.0/16", "t"),
    )
    strategy = strategy_with("ipmicra@50", "", tree)
    for name, home in (("nephew", "10.1.1.1"), ("sibling", "10.3.0.1")):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), address(home)))
    decision = driven(strategy.delegate(target("10.2.0.1"), 0.0), told({"sibling": 80, "nephew": 10}))
    assert asked(decision) == "sibling nephew"


TWO_OF_ONE = tree_of(
    ("10.0.0.0/16", "university"),
    ("20.0.0.0/16", "university"),
    ("30.0.0.0/16", "university"),
    ("40.0.0.0/16", "other"),
)


@pytest.mark.parametrize(
    ("spec", "world", "probes", "owner", "why"),
    [
        ("ipmicra@50/inherit", {"a": 99, "b": 9}, "", "a", Why.SAME_ORGANISATION),
        ("ipmicra@50/confirm", {"a": 20, "b": 9}, "a", "a", Why.SAME_ORGANISATION),
        ("ipmicra@50/confirm", {"a": 99, "b": 9}, "a b", "b", Why.BELOW_THRESHOLD),
    ],
)
def test_the_same_organisations_crawler(
    spec: str, world: dict[str, float], probes: str, owner: str, why: Why
) -> None:
    strategy = strategy_with(spec, "", TWO_OF_ONE)
    for name, home in (("a", "10.0.0.1"), ("b", "40.0.0.1")):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), address(home)))
    decision = driven(strategy.delegate(target("20.0.0.1"), 0.0), told(world))
    assert (asked(decision), decision.crawler, decision.why) == (probes, owner, why)


@pytest.mark.parametrize("spec", ["ipmicra@50/inherit", "ipmicra@50/confirm"])
def test_where_several_hold_the_organisation_they_are_asked_by_both_rules(spec: str) -> None:
    strategy = strategy_with(spec, "", TWO_OF_ONE)
    for name, home in (("a", "10.0.0.1"), ("b", "20.0.0.1"), ("c", "40.0.0.1")):
        strategy.on_crawler_joined(CrawlerProfile(crawler(name), address(home)))
    decision = driven(strategy.delegate(target("30.0.0.1"), 0.0), told({"a": 60, "b": 40, "c": 1}))
    assert (asked(decision), decision.crawler) == ("a b", "b")


def test_an_address_in_no_known_subnet_is_delegated_by_itself() -> None:
    strategy = figure_2()
    stray = target("99.0.0.1")
    decision = driven(strategy.delegate(stray, 0.0), told({"x": 70, "y": 60, "z": 5}))
    assert (decision.crawler, decision.subnets) == ("z", ())
    assert strategy.delegations.owner(stray.address) == "z"
    assert driven(strategy.delegate(target("99.0.0.2"), 0.0), told({"x": 1})).crawler == "x"


def test_the_explanation_names_the_steps_and_the_probes() -> None:
    said: Teller = told({"x": 70, "y": 30})
    text = driven(figure_2().delegate(NEW_URL, 0.0), said).explanation()
    assert "y: a round trip below the threshold was found" in text
    assert "children of 14.0.0.1 - 16.255.255.255: x, y" in text
    assert "probe from x: 70.0 ms" in text
