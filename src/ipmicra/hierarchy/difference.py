"""Two trees, the old and the new -> added, removed and changed subnets, and where attachments go.

A subnet is the same in both where its range is the same. It changed hands where both trees name its
organisation and they name different ones; organisations are compared by identity (handle of a registry,
else normalised name), since numbers differ from tree to tree.

The rule of carrying over what was attached to subnets (a delegation, measurements):

1. An attachment of a subnet that is still there stays with it.
2. An attachment of a subnet that is gone goes up to the smallest subnet of the new tree that encloses
   the old range, unless that one already has an attachment by rule 1.
3. Where several go up to the same subnet, the one from the largest old subnet takes it, of equally
   large ones the lowest.
4. Any other attachment is lost, and listed with its range and the subnet that it would have gone to.
   The roots take nothing by rule 2: a fact about a subnet is not a fact about the whole Internet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy.organisation import UNKNOWN, identity
from ipmicra.hierarchy.tree import Subnet, SubnetTree

Attachment = TypeVar("Attachment")
SubnetSet = NDArray[np.int64]
NONE = -1


@dataclass(frozen=True)
class TreeDifference:
    """`same_as[old]` is the new subnet with the same range, or -1. The others are subnets in order."""

    same_as: SubnetSet
    removed: SubnetSet  # of the old tree
    added: SubnetSet  # of the new tree
    changed_hands: SubnetSet  # of the new tree


@dataclass(frozen=True)
class LostSubnet(Generic[Attachment]):
    """An attachment of `old_range` that was lost; `taken_by` is the subnet that it would have gone to."""

    attachment: Attachment
    old_range: AddressRange
    taken_by: Subnet


@dataclass(frozen=True)
class CarriedOver(Generic[Attachment]):
    """Every attachment is in exactly one of the two."""

    attachments: dict[Subnet, Attachment]
    lost: list[LostSubnet[Attachment]]


def difference(old: SubnetTree, new: SubnetTree) -> TreeDifference:
    """The subnets that were added, removed, or passed from one organisation to another."""
    same_as = _same_ranges(old, new)
    kept = np.flatnonzero(same_as != NONE)
    is_added = np.ones(len(new), np.bool_)
    is_added[same_as[kept]] = False
    moved = _changed_hands(old, new, kept, same_as[kept])
    return TreeDifference(same_as, np.flatnonzero(same_as == NONE), np.flatnonzero(is_added), moved)


def carry_over(
    attachments: Mapping[Subnet, Attachment], old: SubnetTree, new: SubnetTree
) -> CarriedOver[Attachment]:
    """Attachments of the old tree's subnets on the new tree's, by the rule above."""
    same_as = _same_ranges(old, new)
    carried: dict[Subnet, Attachment] = {}
    homeless: list[Subnet] = []
    for subnet, attachment in attachments.items():
        if same_as[subnet] == NONE:
            homeless.append(subnet)
        else:
            carried[Subnet(int(same_as[subnet]))] = attachment
    lost: list[LostSubnet[Attachment]] = []
    for subnet in sorted(homeless, key=lambda subnet: (-old.range_of(subnet).size, subnet)):
        above = smallest_enclosing(new, old.range_of(subnet))
        if above in carried or new.parent(above) is None:
            lost.append(LostSubnet(attachments[subnet], old.range_of(subnet), above))
        else:
            carried[above] = attachments[subnet]
    return CarriedOver(carried, lost)


def smallest_enclosing(tree: SubnetTree, wanted: AddressRange) -> Subnet:
    """The smallest subnet that encloses the range; its root where no other does."""
    subnet = tree.smallest(wanted.first_address())
    while not tree.range_of(subnet).encloses(wanted):
        parent = tree.parent(subnet)
        assert parent is not None, "the root encloses every range of its family"
        subnet = parent
    return subnet


def _same_ranges(old: SubnetTree, new: SubnetTree) -> SubnetSet:
    """For each old subnet the new one with the same range, or -1."""
    v4 = _places(_v4_keys(old), _v4_keys(new))
    v6 = _places(_v6_keys(old), _v6_keys(new))
    v6[v6 != NONE] += new.root(6)
    return np.concatenate((v4, v6))


def _places(wanted: NDArray[np.generic], keys: NDArray[np.generic]) -> SubnetSet:
    """The place of each wanted key among the sorted keys; -1 where it is missing."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    places[keys[places] != wanted] = NONE
    return places


def _v4_keys(tree: SubnetTree) -> NDArray[np.uint64]:
    """Numbers that sort as a walk does: by start, then the longer first."""
    return tree.columns.v4_starts.astype(np.uint64) << np.uint64(32) | ~tree.columns.v4_lasts


def _v6_keys(tree: SubnetTree) -> NDArray[np.bytes_]:
    """The same as 32 bytes, and a 1 behind them, since numpy takes trailing zeros for absent."""
    columns = tree.columns
    halves = (
        columns.v6_starts_high,
        columns.v6_starts_low,
        ~columns.v6_lasts_high,
        ~columns.v6_lasts_low,
    )
    letters = np.ones((len(columns.v6_starts_high), 33), np.uint8)
    letters[:, :32] = np.stack(halves, axis=1).astype(">u8").view(np.uint8)
    return letters.view("S33")[:, 0]


def _changed_hands(old: SubnetTree, new: SubnetTree, kept: SubnetSet, places: SubnetSet) -> SubnetSet:
    before, after = old.columns.organisations[kept], new.columns.organisations[places]
    known = (before != UNKNOWN) & (after != UNKNOWN)
    numbers = {who: number for number, who in enumerate(_identities(new))}
    renumbered = np.array([numbers.get(who, NONE) for who in _identities(old)] or [NONE], np.int64)
    return np.sort(places[known & (renumbered[before] != after)])


def _identities(tree: SubnetTree) -> list[str]:
    """The identity of each organisation, independent of its number."""
    names = tree.names
    return [
        identity(
            names.organisation_registries[n], names.organisation_handles[n], names.organisation_names[n]
        )
        for n in range(tree.organisation_count)
    ]
