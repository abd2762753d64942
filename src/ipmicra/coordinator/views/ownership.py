"""Decisions and the tree -> which crawlers own units inside any subnet.

Invariant: no I/O; rebuilt when decisions change. The subnets inside a subnet are adjacent in walk order, so
two binary searches find the units inside it.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ipmicra.coordinator.store.delegations import DelegationRow
from ipmicra.coordinator.store.unit_codec import unit_from_text
from ipmicra.delegation.delegations import is_subnet
from ipmicra.hierarchy import Subnet, SubnetTree


class Ownership:
    """Every delegated unit, in walk order."""

    def __init__(self, tree: SubnetTree, decisions: Mapping[str, DelegationRow]) -> None:
        self._tree = tree
        pairs = sorted(_owned_subnets(tree, decisions))
        self._subnets: NDArray[np.int64] = np.array([place for place, _ in pairs], dtype=np.int64)
        self._owners = [owner for _, owner in pairs]

    def inside(self, subnet: Subnet) -> Counter[str]:
        """How much each crawler has in a subnet, itself included."""
        low, high = np.searchsorted(self._subnets, [subnet, self._tree.end_of_subtree(subnet)])
        return Counter(self._owners[low:high])

    def counts(self, parent: Subnet, children: Sequence[Subnet]) -> list[int]:
        """How much is held in each child; a child's subtree ends where the next one begins."""
        bounds = [*children, self._tree.end_of_subtree(parent)]
        counts: list[int] = np.diff(np.searchsorted(self._subnets, bounds)).tolist()
        return counts


def _owned_subnets(tree: SubnetTree, decisions: Mapping[str, DelegationRow]) -> list[tuple[int, str]]:
    """Lone addresses count where they lie, unless the subnet that holds them is the same crawler's."""
    owners: dict[Subnet, str] = {}
    alone: list[tuple[Subnet, str]] = []
    for text, made in decisions.items():
        unit = unit_from_text(tree, text)
        if unit is not None and is_subnet(unit):
            owners[unit] = made.crawler
        elif isinstance(unit, ipaddress.IPv4Address | ipaddress.IPv6Address):
            alone.append((tree.smallest(unit), made.crawler))
    return [*owners.items(), *((s, owner) for s, owner in alone if owners.get(s) != owner)]
