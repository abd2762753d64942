"""Delegated subnets -> the crawlers that hold something just below a given subnet.

The climb of IPMicra needs this at every step: the holders of a subnet's children and grandchildren. Under
a registry's block there may be thousands of delegated children but only as many holders as there are
crawlers, so the index is kept by crawler: each with its units in address order.

Invariant: follows every change of `Delegations`.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from ipmicra.delegation.delegations import DelegationUnit, is_subnet
from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.hierarchy import Subnet
from ipmicra.model.ids import CrawlerId

LEVELS = 2  # children, and "the crawlers of their children" (IPMicra paper, 4.3)


class HolderIndex:
    """(subnet, levels down) -> crawler -> the units that it holds there."""

    def __init__(self, tree: SubnetLookup) -> None:
        self._tree = tree
        self._below: dict[tuple[Subnet, int], dict[CrawlerId, list[tuple[int, Subnet]]]] = {}

    def holding_below(self, subnet: Subnet, level: int) -> list[CrawlerId]:
        """The crawlers that hold a unit `level` steps below, in the address order of their first units."""
        held = self._below.get((subnet, level), {})
        return sorted(held, key=lambda crawler: held[crawler][0])

    def on_given(self, unit: DelegationUnit, crawler: CrawlerId) -> None:
        for above, entry in self._places(unit):
            insort(self._below.setdefault(above, {}).setdefault(crawler, []), entry)

    def on_taken(self, unit: DelegationUnit, crawler: CrawlerId) -> None:
        for above, entry in self._places(unit):
            holdings = self._below[above][crawler]
            del holdings[bisect_left(holdings, entry)]
            if not holdings:
                del self._below[above][crawler]
            if not self._below[above]:
                del self._below[above]

    def _places(self, unit: DelegationUnit) -> list[tuple[tuple[Subnet, int], tuple[int, Subnet]]]:
        """Where a subnet is entered: under its parent as a child, under its grandparent, ..."""
        if not is_subnet(unit):
            return []
        entry = self._tree.range_of(unit).start, unit
        places, above = [], self._tree.parent(unit)
        for level in range(1, LEVELS + 1):
            if above is None:
                break
            places.append(((above, level), entry))
            above = self._tree.parent(above)
        return places
