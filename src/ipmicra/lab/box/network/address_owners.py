"""An address -> the endpoint that owns it. Ranges of different endpoints never overlap."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence

from ipmicra.addresses import AddressRange, Family
from ipmicra.lab.box.network.plan import Endpoint


class AddressOwners:
    """Found by bisection, in both families."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        held = sorted(
            (AddressRange.parse(block), number)
            for number, end in enumerate(endpoints)
            for block in end.blocks
        )
        for (before, _), (after, _) in itertools.pairwise(held):
            assert not before.overlaps(after), f"{before} and {after} have two owners"
        self._held = held
        self._starts = [(block.family, block.start) for block, _ in held]

    def owner(self, family: Family, address: int) -> int | None:
        at = bisect_right(self._starts, (family, address)) - 1
        if at < 0:
            return None
        block, number = self._held[at]
        only = AddressRange(family, address, address + 1)
        return number if block.encloses(only) else None
