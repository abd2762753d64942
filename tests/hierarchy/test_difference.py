"""A tree is rebuilt: what changed, and where what hung on the old one goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy import Allocation, Allocations, Subnet, SubnetTree, build_tree
from ipmicra.hierarchy.difference import CarriedOver, carry_over, difference, smallest_enclosing

Texts = dict[str, str]  # range -> handle


def tree_of(world: Texts) -> SubnetTree:
    allocations = Allocations()
    for text, handle in world.items():
        allocations.append(Allocation(AddressRange.parse(text), handle, registry="ripencc"))
    return build_tree(allocations).tree


def written(tree: SubnetTree, subnets: Sequence[int]) -> list[str]:
    return [str(tree.range_of(Subnet(subnet))) for subnet in subnets]


def attached(tree: SubnetTree, *texts: str) -> dict[Subnet, str]:
    """To each of these ranges its own text."""
    return {smallest_enclosing(tree, AddressRange.parse(text)): text for text in texts}


def carried(result: CarriedOver[str], tree: SubnetTree) -> Texts:
    return {str(tree.range_of(subnet)): what for subnet, what in result.attachments.items()}


def test_the_difference_names_what_was_added_removed_and_changed_hands() -> None:
    old = tree_of({"10.0.0.0/8": "A", "10.1.0.0/16": "A", "10.2.0.0/16": "B", "2001:db8::/32": "A"})
    new = tree_of({"10.3.0.0/16": "C", "10.2.0.0/16": "C", "10.0.0.0/8": "a", "2001:db8::/32": "B"})
    found = difference(old, new)
    assert written(old, found.removed.tolist()) == ["10.1.0.0/16"]
    assert written(new, found.added.tolist()) == ["10.3.0.0/16"]
    assert written(new, found.changed_hands.tolist()) == ["10.2.0.0/16", "2001:db8::/32"]


def test_who_was_unknown_has_not_changed_hands() -> None:
    old, new = (
        tree_of({"10.0.0.0/8": "", "11.0.0.0/8": "A"}),
        tree_of({"10.0.0.0/8": "A", "11.0.0.0/8": ""}),
    )
    assert difference(old, new).changed_hands.tolist() == []


def test_an_attachment_stays_with_its_range() -> None:
    old, new = tree_of({"10.1.0.0/16": "A"}), tree_of({"10.0.0.0/8": "B", "10.1.0.0/16": "A"})
    result = carry_over(attached(old, "10.1.0.0/16"), old, new)
    assert carried(result, new) == {"10.1.0.0/16": "10.1.0.0/16"}
    assert result.lost == []


def test_an_attachment_of_a_vanished_subnet_goes_up() -> None:
    old, new = tree_of({"10.0.0.0/8": "A", "10.1.0.0/16": "A"}), tree_of({"10.0.0.0/8": "A"})
    result = carry_over(attached(old, "10.1.0.0/16"), old, new)
    assert carried(result, new) == {"10.0.0.0/8": "10.1.0.0/16"}


def test_it_does_not_displace_one_that_was_there() -> None:
    old, new = tree_of({"10.0.0.0/8": "A", "10.1.0.0/16": "A"}), tree_of({"10.0.0.0/8": "A"})
    result = carry_over(attached(old, "10.1.0.0/16", "10.0.0.0/8"), old, new)
    assert carried(result, new) == {"10.0.0.0/8": "10.0.0.0/8"}
    (lost,) = result.lost
    assert (lost.attachment, str(lost.old_range)) == ("10.1.0.0/16", "10.1.0.0/16")
    assert str(new.range_of(lost.taken_by)) == "10.0.0.0/8"


def test_of_several_that_go_up_the_largest_then_the_lowest_wins() -> None:
    old = tree_of({"10.0.0.0/8": "", "10.1.0.0/24": "", "10.2.0.0/16": "", "10.3.0.0/16": ""})
    new = tree_of({"10.0.0.0/8": ""})
    result = carry_over(attached(old, "10.1.0.0/24", "10.3.0.0/16", "10.2.0.0/16"), old, new)
    assert carried(result, new) == {"10.0.0.0/8": "10.2.0.0/16"}
    assert [lost.attachment for lost in result.lost] == ["10.3.0.0/16", "10.1.0.0/24"]


def test_the_roots_take_nothing_but_their_own() -> None:
    old, new = tree_of({"10.0.0.0/8": ""}), tree_of({})
    result = carry_over(attached(old, "10.0.0.0/8", "0.0.0.0/0"), old, new)
    assert carried(result, new) == {"0.0.0.0/0": "0.0.0.0/0"}
    assert [lost.attachment for lost in result.lost] == ["10.0.0.0/8"]


@st.composite
def worlds(draw: st.DrawFn) -> Texts:
    """Few ranges of few sizes, so that two worlds share some, nest and cross."""
    texts: Texts = {}
    for _ in range(draw(st.integers(0, 12))):
        family, start = draw(st.sampled_from([4, 6])), draw(st.integers(0, 15))
        size = draw(st.sampled_from([1, 2, 4, 5, 8, 16]))
        own = AddressRange(4 if family == 4 else 6, start * 4, start * 4 + size)
        texts[str(own)] = draw(st.sampled_from(["", "A", "B"]))
    return texts


@settings(max_examples=150, deadline=None)
@given(worlds(), worlds(), st.data())
def test_nothing_attached_is_silently_lost(before: Texts, after: Texts, data: st.DataObject) -> None:
    old, new = tree_of(before), tree_of(after)
    chosen = data.draw(st.sets(st.integers(0, len(old) - 1)))
    attachments = {Subnet(subnet): str(old.range_of(Subnet(subnet))) for subnet in sorted(chosen)}
    result = carry_over(attachments, old, new)
    found = Counter([*result.attachments.values(), *(lost.attachment for lost in result.lost)])
    assert found == Counter(attachments.values())
    for subnet, text in result.attachments.items():
        assert new.range_of(subnet).encloses(AddressRange.parse(text))
    for lost in result.lost:
        assert str(lost.old_range) == lost.attachment
        assert lost.taken_by in result.attachments or new.parent(lost.taken_by) is None


@settings(max_examples=150, deadline=None)
@given(worlds(), worlds())
def test_the_difference_is_that_of_the_two_sets_of_ranges(before: Texts, after: Texts) -> None:
    old, new = tree_of(before), tree_of(after)
    old_ranges, new_ranges = written(old, range(len(old))), written(new, range(len(new)))
    found = difference(old, new)
    assert written(old, found.removed.tolist()) == [r for r in old_ranges if r not in new_ranges]
    assert written(new, found.added.tolist()) == [r for r in new_ranges if r not in old_ranges]
    changed = [r for r in new_ranges if r in old_ranges and differ(holder(old, r), holder(new, r))]
    assert written(new, found.changed_hands.tolist()) == changed
    for subnet, same in enumerate(found.same_as.tolist()):
        assert same == (new_ranges.index(old_ranges[subnet]) if old_ranges[subnet] in new_ranges else -1)


def holder(tree: SubnetTree, text: str) -> str:
    number = tree.organisation_of(smallest_enclosing(tree, AddressRange.parse(text)))
    return "" if number < 0 else tree.organisation_handle(number)


def differ(before: str, after: str) -> bool:
    return bool(before and after and before != after)
