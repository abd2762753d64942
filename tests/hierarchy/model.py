"""The tree by brute force: lists, every pair compared, the rules as they are stated.

Slow and plain on purpose: the tree of arrays is compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy import Allocation


@dataclass
class ModelTree:
    """Ranges in walk order with their facts: (handle, country, asn), the first said of each."""

    ranges: list[AddressRange]
    facts: dict[AddressRange, tuple[str, str, int]]
    crossing: int
    duplicates: int

    def smallest(self, address: AddressRange) -> AddressRange:
        return min((r for r in self.ranges if r.encloses(address)), key=lambda r: r.size)

    def smallest_not_unary(self, address: AddressRange) -> AddressRange:
        return min((r for r in self.ranges if r.encloses(address) and r.size > 1), key=lambda r: r.size)

    def path(self, wanted: AddressRange) -> list[AddressRange]:
        return sorted((r for r in self.ranges if r.encloses(wanted)), key=lambda r: -r.size)

    def children(self, wanted: AddressRange) -> list[AddressRange]:
        inside = [r for r in self.ranges if r != wanted and wanted.encloses(r)]
        return [r for r in inside if not any(o != r and o.encloses(r) for o in inside)]


def model_of(allocations: Sequence[Allocation]) -> ModelTree:
    roots = [AddressRange.whole(4), AddressRange.whole(6)]
    distinct = {*roots, *(allocation.range for allocation in allocations)}
    moved = {r: shortened(r, distinct) for r in distinct}
    facts: dict[AddressRange, tuple[str, str, int]] = dict.fromkeys(moved.values(), ("", "", 0))
    for record in allocations:
        handle, country, asn = facts[moved[record.range]]
        said = (handle or record.handle, country or record.country, asn or record.asn)
        facts[moved[record.range]] = said
    ranges = sorted(facts, key=lambda r: (r.family, r.start, -r.end))
    crossing = sum(1 for before, after in moved.items() if before != after)
    return ModelTree(ranges, facts, crossing, len(allocations) + 2 - len(ranges))


def shortened(wanted: AddressRange, others: set[AddressRange]) -> AddressRange:
    """Without the part that lies in a crossing range that starts earlier."""
    ends = [other.end for other in others if crosses(other, wanted) and other.start < wanted.start]
    return wanted._replace(start=max([wanted.start, *ends]))


def crosses(one: AddressRange, other: AddressRange) -> bool:
    """Whether the two overlap and neither encloses the other."""
    return one.overlaps(other) and not one.encloses(other) and not other.encloses(one)
