"""The tree of arrays answers as brute force does, on worlds that nest, repeat, cross and shrink to one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.addresses import BITS, AddressRange, Family
from ipmicra.hierarchy import Allocation, Allocations, Built, Subnet, SubnetTree, build_tree
from ipmicra.hierarchy.allocation import FACTS, AllocationColumns
from tests.hierarchy.model import ModelTree, model_of

# Where the small worlds lie: at both ends of each family, and across the border of the two halves of an
# IPv6 address, where carries happen.
ORIGINS: list[tuple[Family, int]] = [
    (4, 0),
    (4, (10 << 24) + 0xFFF0),
    (4, (1 << 32) - 64),
    (6, 0),
    (6, (0x20010DB8 << 96) + (1 << 64) - 32),
    (6, (1 << 128) - 64),
]


@st.composite
def ranges(draw: st.DrawFn) -> AddressRange:
    family, origin = draw(st.sampled_from(ORIGINS))
    if draw(st.integers(0, 30)) == 0:
        return AddressRange.whole(family)
    start = draw(st.integers(0, 63))
    size = draw(st.sampled_from([1, 1, 2, 3, 4, 8, 13, 16, 32, 64]))
    return AddressRange(family, origin + start, min(origin + start + size, 1 << BITS[family]))


RECORDS = st.builds(
    Allocation,
    range=ranges(),
    handle=st.sampled_from(["", "A", "B", "C"]),
    name=st.just(""),
    country=st.sampled_from(["", "DE", "GR"]),
    registry=st.just("ripencc"),
    status=st.just(""),
    source=st.just("test"),
    asn=st.sampled_from([0, 0, 64496, 64497]),
)
WORLDS = st.lists(RECORDS, max_size=40)


def built_of(records: Sequence[Allocation]) -> Built:
    allocations = Allocations()
    for record in records:
        allocations.append(record)
    return build_tree(allocations)


def addresses_of(model: ModelTree, family: Family) -> list[int]:
    """Every bound of every range, and its neighbours."""
    last = (1 << BITS[family]) - 1
    near = {
        bound + step
        for r in model.ranges
        if r.family == family
        for bound in (r.start, r.end)
        for step in (-1, 0, 1)
    }
    return sorted(value for value in near if 0 <= value <= last)


def ranges_of(tree: SubnetTree, subnets: Sequence[int]) -> list[AddressRange]:
    return [tree.range_of(Subnet(int(subnet))) for subnet in subnets]


@settings(max_examples=150, deadline=None)
@given(WORLDS)
def test_the_same_ranges_remain_and_the_same_is_counted(records: list[Allocation]) -> None:
    model, (tree, tally) = model_of(records), built_of(records)
    assert ranges_of(tree, range(len(tree))) == model.ranges
    assert (tally.crossing, tally.duplicates, tally.allocations) == (
        model.crossing,
        model.duplicates,
        len(records),
    )


@settings(max_examples=100, deadline=None)
@given(WORLDS)
def test_addresses_find_the_same_subnets_one_by_one_and_in_batches(records: list[Allocation]) -> None:
    model, tree = model_of(records), built_of(records).tree
    for family in (4, 6):
        values = addresses_of(model, family)
        points = [AddressRange(family, value, value + 1) for value in values]
        smallest = [model.smallest(point) for point in points]
        not_unary = [model.smallest_not_unary(point) for point in points]
        assert ranges_of(tree, [tree.smallest(p.first_address()) for p in points]) == smallest
        assert (
            ranges_of(tree, [tree.smallest_of_text(str(p.first_address())) for p in points]) == smallest
        )
        assert ranges_of(tree, [tree.smallest_not_unary(p.first_address()) for p in points]) == not_unary
        batch, batch_not_unary = in_batch(tree, family, values[::-1])
        assert ranges_of(tree, batch)[::-1] == smallest
        assert ranges_of(tree, batch_not_unary)[::-1] == not_unary


def in_batch(tree: SubnetTree, family: Family, values: list[int]) -> tuple[list[int], list[int]]:
    if family == 4:
        v4 = np.array(values, np.uint32)
        return tree.smallest_batch(v4).tolist(), tree.smallest_not_unary_batch(v4).tolist()
    v6 = np.array([(value >> 64, value & ((1 << 64) - 1)) for value in values], np.uint64)
    return tree.smallest_batch_v6(v6).tolist(), tree.smallest_not_unary_batch_v6(v6).tolist()


@settings(max_examples=80, deadline=None)
@given(WORLDS)
def test_subnets_have_the_same_relations_and_facts(records: list[Allocation]) -> None:
    model, tree = model_of(records), built_of(records).tree
    for number, own in enumerate(model.ranges):
        subnet = Subnet(number)
        path = model.path(own)
        parent = tree.parent(subnet)
        assert ranges_of(tree, tree.path(subnet)) == path
        assert tree.depth(subnet) == len(path) - 1
        assert (parent if parent is None else tree.range_of(parent)) == (
            path[-2] if len(path) > 1 else None
        )
        assert ranges_of(tree, tree.children(subnet)) == model.children(own)
        beside = [] if len(path) == 1 else [r for r in model.children(path[-2]) if r != own]
        assert ranges_of(tree, tree.siblings(subnet)) == beside
        assert facts_of(tree, subnet) == model.facts[own]


def facts_of(tree: SubnetTree, subnet: Subnet) -> tuple[str, str, int]:
    number = tree.organisation_of(subnet)
    handle = "" if number < 0 else tree.organisation_handle(number)
    return handle, tree.country_of(subnet), tree.asn_of(subnet)


@settings(max_examples=50, deadline=None)
@given(WORLDS)
def test_an_organisation_has_all_its_subnets_and_no_others(records: list[Allocation]) -> None:
    model, tree = model_of(records), built_of(records).tree
    for number in range(tree.organisation_count):
        handle = tree.organisation_handle(number)
        expected = [r for r in model.ranges if model.facts[r][0] == handle]
        assert ranges_of(tree, tree.subnets_of_organisation(number).tolist()) == expected


@settings(max_examples=40, deadline=None)
@given(WORLDS)
def test_a_batch_of_columns_makes_the_same_tree_as_single_records(records: list[Allocation]) -> None:
    one_by_one = Allocations()
    for record in records:
        one_by_one.append(record)
    in_columns = Allocations()
    copy_columns(one_by_one, in_columns)
    left, right = build_tree(one_by_one).tree, build_tree(in_columns).tree
    assert ranges_of(left, range(len(left))) == ranges_of(right, range(len(right)))
    assert left.columns.asns.tolist() == right.columns.asns.tolist()
    assert left.columns.organisations.tolist() == right.columns.organisations.tolist()


def copy_columns(source: Allocations, target: Allocations) -> None:
    for family, append in ((4, target.append_v4), (6, target.append_v6)):
        column = {
            name: source.column(4 if family == 4 else 6, name) for name in ("start", "last", *FACTS)
        }
        append(
            column["start"], column["last"], AllocationColumns(**{name: column[name] for name in FACTS})
        )
