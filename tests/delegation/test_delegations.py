"""Delegations compared with a plain dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ipmicra.delegation.delegations import Delegations, DelegationUnit
from ipmicra.delegation.holder_index import HolderIndex
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId
from ipmicra.testing.strategy_referee import tree_of
from tests.delegation.worlds import address

CRAWLERS = [CrawlerId(name) for name in "abc"]
GROUNDS: list[DelegationUnit] = [Subnet(number) for number in range(1, 8)]
ORGANISATIONS = {unit: number % 3 - 1 for number, unit in enumerate(GROUNDS)}  # -1 is unknown
steps = st.lists(st.tuples(st.sampled_from(GROUNDS), st.none() | st.sampled_from(CRAWLERS)), max_size=60)


@given(steps)
def test_all_ways_of_looking_it_up_agree_with_a_plain_dictionary(
    script: list[tuple[DelegationUnit, CrawlerId | None]],
) -> None:
    delegations, model = Delegations(), dict[DelegationUnit, CrawlerId]()
    for unit, crawler in script:
        if crawler is None:
            assert delegations.take(unit) == model.pop(unit, None)
        else:
            delegations.give(unit, crawler, ORGANISATIONS[unit])
            model.pop(unit, None)
            model[unit] = crawler
    assert dict(delegations) == model
    assert len(delegations) == len(model)
    for crawler in CRAWLERS:
        held = [unit for unit, owner in model.items() if owner == crawler]
        assert list(delegations.held_by(crawler)) == held
        assert delegations.count_held_by(crawler) == len(held)
    for organisation in (0, 1):
        of_it = [(g, c) for g, c in model.items() if ORGANISATIONS[g] == organisation]
        assert list(delegations.of_organisation(organisation)) == of_it
        assert set(delegations.holders_of_organisation(organisation)) == {c for _, c in of_it}


def test_a_lower_delegation_supersedes_a_higher_one() -> None:
    delegations = Delegations()
    inner, outer = Subnet(2), Subnet(1)
    delegations.give(outer, CRAWLERS[0])
    assert delegations.covering((inner, outer)) == (outer, "a")
    delegations.give(inner, CRAWLERS[1])
    assert delegations.covering((inner, outer)) == (inner, "b")
    delegations.take(inner)
    assert delegations.covering((inner, outer)) == (outer, "a")


def test_of_lone_addresses_the_longest_given_is_forgotten_and_subnets_never() -> None:
    delegations = Delegations(lone_max=3)
    delegations.give(Subnet(7), CRAWLERS[0])
    lone = [address(f"192.0.2.{number}") for number in range(4)]
    for unit in (*lone[:3], lone[0], lone[3]):
        delegations.give(unit, CRAWLERS[1])
    assert [delegations.owner(unit) for unit in lone] == ["b", None, "b", "b"]
    assert delegations.owner(Subnet(7)) == "a"
    assert delegations.count_held_by(CRAWLERS[1]) == 3
    assert len(delegations) == 4


TREE = tree_of(
    ("10.0.0.0/8", "p"),
    ("10.1.0.0/16", "q"),
    ("10.1.1.0/24", "r"),
    ("10.2.0.0/16", "s"),
    ("10.2.1.0/24", "t"),
)
SUBNETS = [
    TREE.smallest(address(text)) for text in ("10.9.9.9", "10.1.9.9", "10.1.1.1", "10.2.9.9", "10.2.1.1")
]


@given(st.lists(st.tuples(st.sampled_from(SUBNETS), st.none() | st.sampled_from(CRAWLERS)), max_size=40))
def test_the_neighbours_follow_every_change(script: list[tuple[Subnet, CrawlerId | None]]) -> None:
    neighbours = HolderIndex(TREE)
    delegations = Delegations(neighbours)
    for subnet, crawler in script:
        if crawler is None:
            delegations.take(subnet)
        else:
            delegations.give(subnet, crawler)
    for subnet in SUBNETS:
        children = TREE.children(subnet)
        grandchildren = [low for child in children for low in TREE.children(child)]
        for level, below in ((1, children), (2, grandchildren)):
            owners = [delegations.owner(low) for low in below]
            expected = list(dict.fromkeys(owner for owner in owners if owner is not None))
            assert neighbours.holding_below(subnet, level) == expected
