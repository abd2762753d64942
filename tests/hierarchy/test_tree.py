"""A small world whose every answer is written down."""

from __future__ import annotations

import ipaddress

import numpy as np
import pytest

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy import Allocation, Allocations, Subnet, SubnetTree, build_tree
from ipmicra.hierarchy.search import PORTION

WORLD = [
    Allocation(
        AddressRange.parse("192.0.0.0/8"), "RIR", "A registry", "", "ripencc", "allocated", "rpsl"
    ),
    Allocation(
        AddressRange.parse("192.0.2.0/24"), "ORG-A", "Alpha Ltd", "DE", "ripencc", "assigned", "rpsl"
    ),
    Allocation(AddressRange.parse("192.0.2.7"), "", "Tiny GmbH", "DE", "ripencc", "assigned", "rpsl"),
    Allocation(
        AddressRange.parse("192.0.3.0 - 192.0.3.9"), "org-a", "", "FR", "ripencc", "assigned", "rpsl"
    ),
    Allocation(AddressRange.parse("2001:db8::/32"), "ORG-A", "", "DE", "ripencc", "allocated", "rpsl"),
    Allocation(
        AddressRange.parse("2001:db8::1"), "", "TINY", "DE", "ripencc", "assigned", "rpsl", 64496
    ),
]


def tree_of(*allocations: Allocation) -> SubnetTree:
    collection = Allocations()
    for allocation in allocations:
        collection.append(allocation)
    return build_tree(collection).tree


@pytest.fixture(scope="module")
def world() -> SubnetTree:
    return tree_of(*WORLD)


def find(tree: SubnetTree, text: str) -> Subnet:
    """The subnet with exactly this range."""
    wanted = AddressRange.parse(text)
    return next(s for f in (4, 6) for n in tree.subnets(f) if tree.range_of(s := Subnet(n)) == wanted)


@pytest.mark.parametrize(
    ("address", "smallest", "not_unary"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.0/24"),
        ("192.0.2.8", "192.0.2.0/24", "192.0.2.0/24"),
        ("192.0.3.9", "192.0.3.0 - 192.0.3.9", "192.0.3.0 - 192.0.3.9"),
        ("192.0.3.10", "192.0.0.0/8", "192.0.0.0/8"),
        ("8.8.8.8", "0.0.0.0/0", "0.0.0.0/0"),
        ("0.0.0.0", "0.0.0.0/0", "0.0.0.0/0"),
        ("255.255.255.255", "0.0.0.0/0", "0.0.0.0/0"),
        ("2001:db8::1", "2001:db8::1", "2001:db8::/32"),
        ("2001:db8::2", "2001:db8::/32", "2001:db8::/32"),
        ("::", "::/0", "::/0"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "::/0", "::/0"),
    ],
)
def test_an_address_finds_its_smallest_subnet(
    world: SubnetTree, address: str, smallest: str, not_unary: str
) -> None:
    parsed = ipaddress.ip_address(address)
    assert world.smallest(parsed) == find(world, smallest)
    assert world.smallest_of_text(address) == find(world, smallest)
    assert world.smallest_not_unary(parsed) == find(world, not_unary)


def test_a_subnet_knows_its_relations(world: SubnetTree) -> None:
    alpha, tiny, other = (find(world, t) for t in ("192.0.2.0/24", "192.0.2.7", "192.0.3.0 - 192.0.3.9"))
    block = find(world, "192.0.0.0/8")
    assert world.parent(tiny) == alpha
    assert world.parent(world.root(4)) is None
    assert world.children(block) == [alpha, other]
    assert world.children(tiny) == []
    assert world.siblings(alpha) == [other]
    assert world.siblings(world.root(6)) == []
    assert world.path(tiny) == [world.root(4), block, alpha, tiny]
    assert world.depth(tiny) == 3


def test_a_subnet_knows_what_was_said_of_it(world: SubnetTree) -> None:
    tiny = find(world, "2001:db8::1")
    facts = (
        world.country_of(tiny),
        world.registry_of(tiny),
        world.status_of(tiny),
        world.source_of(tiny),
    )
    assert facts == ("DE", "ripencc", "assigned", "rpsl")
    assert world.asn_of(tiny) == 64496
    assert world.organisation_name(world.organisation_of(tiny)) == "Tiny GmbH"
    assert world.organisation_of(world.root(4)) == -1
    assert world.country_of(world.root(6)) == ""


def test_an_organisation_finds_its_subnets_in_both_families(world: SubnetTree) -> None:
    alpha = world.organisation_of(find(world, "192.0.2.0/24"))
    assert world.organisation_handle(alpha) == "ORG-A"
    ranges = [str(world.range_of(Subnet(int(s)))) for s in world.subnets_of_organisation(alpha)]
    assert ranges == ["192.0.2.0/24", "192.0.3.0 - 192.0.3.9", "2001:db8::/32"]
    assert len(world.subnets_of_organisation(-1)) == 0


def test_a_tree_of_nothing_has_two_roots() -> None:
    tree = tree_of()
    assert len(tree) == 2
    assert tree.smallest_of_text("8.8.8.8") == tree.root(4)
    assert tree.smallest_of_text("::1") == tree.root(6)
    assert tree.smallest_batch(np.array([1, 2], np.uint32)).tolist() == [0, 0]
    assert len(tree.smallest_batch(np.array([], np.uint32))) == 0
    assert tree.asn_of(tree.root(4)) == 0


@pytest.mark.parametrize("text", ["", "1.2.3", "1.2.3.256", "01.2.3.4", "1.2.3.4.5", "name", "1.2.3.-4"])
def test_what_is_no_address_is_refused(world: SubnetTree, text: str) -> None:
    with pytest.raises(ValueError):
        world.smallest_of_text(text)


def test_a_batch_of_several_portions_answers_as_one_by_one(world: SubnetTree) -> None:
    random = np.random.default_rng(3)
    batch = random.integers(0xC0000000, 0xC0000500, 2 * PORTION + 5, dtype=np.uint32)
    batch[::7] = random.integers(0, 1 << 32, len(batch[::7]), dtype=np.uint32)
    expected = [world.smallest_of_v4(address) for address in batch.tolist()]
    assert world.smallest_batch(batch).tolist() == expected
    assert len(set(expected)) == 5


def test_the_bytes_of_a_tree_are_those_of_its_columns() -> None:
    columns = tree_of(
        Allocation(AddressRange.parse("192.0.2.0/24"), "Bakers", registry="ripencc")
    ).columns
    arrays = [value for value in vars(columns).values() if hasattr(value, "nbytes")]
    assert columns.tree_bytes + columns.index_bytes == sum(array.nbytes for array in arrays)
    assert columns.index_bytes == columns.by_organisation.nbytes + columns.organisation_bounds.nbytes
