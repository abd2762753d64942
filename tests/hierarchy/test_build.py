"""The rules for equal and crossing ranges, as small screenplays."""

from __future__ import annotations

import numpy as np
import pytest

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy import (
    Allocation,
    AllocationColumns,
    Allocations,
    BuildTally,
    Built,
    Subnet,
    build_tree,
)


def built_of(*records: Allocation) -> Built:
    allocations = Allocations()
    for record in records:
        allocations.append(record)
    return build_tree(allocations)


def ranges(built: Built) -> list[str]:
    """All but the roots."""
    tree = built.tree
    return [
        str(tree.range_of(Subnet(subnet)))
        for subnet in range(len(tree))
        if tree.parent(Subnet(subnet)) is not None
    ]


def check(texts: list[str], expected: list[str], crossing: int) -> None:
    for order in (texts, texts[::-1]):
        built = built_of(*(Allocation(AddressRange.parse(text)) for text in order))
        assert ranges(built) == expected
        assert built.tally.crossing == crossing


def test_of_two_crossing_ranges_the_later_one_is_shortened() -> None:
    check(
        ["10.0.0.0 - 10.0.0.9", "10.0.0.5 - 10.0.0.19"],
        ["10.0.0.0 - 10.0.0.9", "10.0.0.10 - 10.0.0.19"],
        1,
    )
    check(["::/126", "::2 - ::5"], ["::/126", "::4/127"], 1)


def test_a_range_that_crosses_several_begins_after_the_last_of_them() -> None:
    check(
        ["10.0.0.0 - 10.0.0.9", "10.0.0.3 - 10.0.0.11", "10.0.0.5 - 10.0.0.19"],
        ["10.0.0.0 - 10.0.0.9", "10.0.0.10/31", "10.0.0.12 - 10.0.0.19"],
        2,
    )


def test_what_lies_within_a_shortened_range_is_shortened_with_it() -> None:
    check(
        ["10.0.0.0 - 10.0.0.9", "10.0.0.5 - 10.0.0.19", "10.0.0.6 - 10.0.0.13", "10.0.0.7"],
        ["10.0.0.0 - 10.0.0.9", "10.0.0.7/32", "10.0.0.10 - 10.0.0.19", "10.0.0.10 - 10.0.0.13"],
        2,
    )


def test_a_shortened_range_that_equals_another_is_merged_with_it() -> None:
    built = built_of(
        Allocation(AddressRange.parse("10.0.0.0 - 10.0.0.9")),
        Allocation(AddressRange.parse("10.0.0.5 - 10.0.0.15"), country="DE"),
        Allocation(AddressRange.parse("10.0.0.10 - 10.0.0.15"), country="FR", asn=64496),
    )
    assert ranges(built) == ["10.0.0.0 - 10.0.0.9", "10.0.0.10 - 10.0.0.15"]
    assert built.tally == BuildTally(allocations=3, duplicates=1, crossing=1)
    merged = built.tree.smallest_of_text("10.0.0.12")
    assert (built.tree.country_of(merged), built.tree.asn_of(merged)) == ("DE", 64496)


def test_of_equal_ranges_the_first_record_speaks_and_later_ones_fill_its_gaps() -> None:
    block = AddressRange.parse("10.0.0.0/8")
    built = built_of(
        Allocation(block, "H1", "", "", "arin", "allocated", "delegated"),
        Allocation(block, "AS64496", "A NETWORK", "US", "", "", "libloc", 64496),
        Allocation(block, "AS64497", "ANOTHER", "CA", "", "", "libloc", 64497),
    )
    tree, subnet = built.tree, Subnet(1)
    assert built.tally == BuildTally(allocations=3, duplicates=2, crossing=0)
    assert tree.organisation_handle(tree.organisation_of(subnet)) == "H1"
    assert (tree.registry_of(subnet), tree.status_of(subnet)) == ("arin", "allocated")
    assert (tree.source_of(subnet), tree.country_of(subnet), tree.asn_of(subnet)) == (
        "delegated",
        "US",
        64496,
    )


def test_a_record_of_everything_tells_about_the_root() -> None:
    built = built_of(Allocation(AddressRange.whole(6), "IANA", country="US"))
    assert built.tally == BuildTally(allocations=1, duplicates=1, crossing=0)
    assert built.tree.country_of(built.tree.root(6)) == "US"


def test_allocations_may_be_added_to_after_a_tree_was_made() -> None:
    allocations = Allocations()
    allocations.append(Allocation(AddressRange.parse("10.0.0.0/8")))
    assert len(build_tree(allocations).tree) == 3
    allocations.append_v4(
        [11 << 24], [(12 << 24) - 1], AllocationColumns(country=allocations.countries.number("DE"))
    )
    allocations.append(Allocation(AddressRange.parse("2001:db8::/32")))
    assert (len(allocations), allocations.count(4), allocations.count(6)) == (3, 2, 1)
    assert len(build_tree(allocations).tree) == 5


def test_many_countries_take_wider_columns() -> None:
    allocations = Allocations()
    for number in range(300):
        block = AddressRange(4, number << 16, (number + 1) << 16)
        allocations.append(Allocation(block, country=f"{number:03}"))
    tree = build_tree(allocations).tree
    assert [tree.country_of(Subnet(subnet)) for subnet in (1, 256, 300)] == ["000", "255", "299"]


@pytest.mark.parametrize(
    ("starts", "lasts", "facts"),
    [
        ([5], [4], AllocationColumns()),
        ([1, 2], [3], AllocationColumns()),
        ([1, 2], [3, 4], AllocationColumns(country=np.array([1]))),
    ],
)
def test_a_batch_that_does_not_fit_together_is_refused(
    starts: list[int], lasts: list[int], facts: AllocationColumns
) -> None:
    allocations = Allocations()
    with pytest.raises(ValueError):
        allocations.append_v4(starts, lasts, facts)
    assert len(allocations) == 0


@pytest.mark.parametrize(("starts", "lasts"), [([(1, 5)], [(1, 4)]), ([(2, 0)], [(1, 9)]), ([1], [2])])
def test_an_ipv6_batch_that_does_not_fit_together_is_refused(
    starts: list[object], lasts: list[object]
) -> None:
    with pytest.raises(ValueError):
        Allocations().append_v6(np.array(starts), np.array(lasts), AllocationColumns())


@pytest.mark.parametrize(
    "bad", [AddressRange(4, 5, 5), AddressRange(4, 0, (1 << 32) + 1), AddressRange(6, -1, 4)]
)
def test_a_range_that_is_none_is_refused(bad: AddressRange) -> None:
    with pytest.raises(ValueError):
        Allocations().append(Allocation(bad))
