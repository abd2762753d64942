"""The old tree and the new one -> the difference, as an operator wants to see it."""

from __future__ import annotations

import msgspec

from ipmicra.hierarchy.difference import difference
from ipmicra.hierarchy.tree import Subnet, SubnetTree

EXAMPLES_MAX = 5


class Change(msgspec.Struct, frozen=True):
    """One range, its former holder and its present one; blank is unknown or none."""

    range: str
    before: str
    after: str


class Changes(msgspec.Struct, frozen=True):
    """How many ranges came, went and changed hands, and the first few of each."""

    added: int
    removed: int
    changed_hands: int
    examples_added: list[Change]
    examples_removed: list[Change]
    examples_changed_hands: list[Change]


def changes_between(old: SubnetTree, new: SubnetTree) -> Changes:
    """Compare range by range."""
    found = difference(old, new)
    changed = found.changed_hands[:EXAMPLES_MAX].tolist()
    old_of = {place: int((found.same_as == place).argmax()) for place in changed}
    return Changes(
        added=len(found.added),
        removed=len(found.removed),
        changed_hands=len(found.changed_hands),
        examples_added=[
            Change(_range(new, place), "", _holder(new, place)) for place in found.added[:EXAMPLES_MAX]
        ],
        examples_removed=[
            Change(_range(old, place), _holder(old, place), "") for place in found.removed[:EXAMPLES_MAX]
        ],
        examples_changed_hands=[
            Change(_range(new, place), _holder(old, old_of[place]), _holder(new, place))
            for place in changed
        ],
    )


def _range(tree: SubnetTree, place: int) -> str:
    return str(tree.range_of(Subnet(int(place))))


def _holder(tree: SubnetTree, place: int) -> str:
    organisation = tree.organisation_of(Subnet(int(place)))
    if organisation < 0:
        return ""
    return tree.organisation_name(organisation) or tree.organisation_handle(organisation)
