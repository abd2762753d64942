"""An address -> the smallest subnet that holds it, one at a time or as arrays.

The subnets are sorted by start. The last one that starts at or before an address either holds it or
lies wholly before it; then one of its ancestors does. One address at a time: bisect between the two
bounds that its top bits give, then climb. A batch: sort it roughly, so that neighbours touch the same
memory, cut it into portions whose working arrays stay in the cache, bisect all of a portion at once, and
climb with those that have not arrived.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np
from numpy.typing import NDArray

from ipmicra.hierarchy.columns import TreeColumns

LOW_64 = (1 << 64) - 1
V4_BITS = 32
PORTION = 32768  # addresses; on 10 million subnets a fifth faster than 100,000, and no slower than 8,192
Answers = NDArray[np.int64]


class V4Search:
    """Over subnets 0 ... of IPv4."""

    __slots__ = ("_columns", "_jumps", "_lasts", "_parents", "_shift", "_starts")

    def __init__(self, columns: TreeColumns) -> None:
        self._columns = columns
        self._starts = columns.v4_starts.data
        self._lasts = columns.v4_lasts.data
        self._jumps = columns.v4_jumps.data
        self._shift = V4_BITS - (len(self._jumps) - 1).bit_length() + 1
        self._parents = columns.parents.data

    def smallest(self, address: int) -> int:
        block = address >> self._shift
        jumps = self._jumps
        here: int = bisect_right(self._starts, address, jumps[block], jumps[block + 1]) - 1
        lasts = self._lasts
        while lasts[here] < address:
            here = self._parents[here]
        return here

    def first_from(self, address: int) -> int:
        """The first subnet that starts at the address or after it; one past the last if none does."""
        return bisect_left(self._starts, address)

    def smallest_batch(self, addresses: NDArray[np.uint32]) -> Answers:
        order = np.argsort((addresses >> np.uint32(16)).astype(np.uint16), kind="stable")  # by radix
        answers = np.empty(len(addresses), np.int64)
        for begin in range(0, len(addresses), PORTION):
            places = order[begin : begin + PORTION]
            portion = addresses.take(places)
            here = self._last_starts(portion)
            self._climb(here, portion)
            answers[places] = here
        return answers

    def _last_starts(self, addresses: NDArray[np.uint32]) -> Answers:
        """The last subnet that starts at or before each address, all bisecting at once.

        `at` starts at or before the address, and so may `left` more after it. On 10 million subnets this
        takes less than half the time of `np.searchsorted`, which misses the cache at most of its 24 steps.
        """
        jumps, starts = self._columns.v4_jumps, self._columns.v4_starts
        blocks = (addresses >> np.uint32(self._shift)).astype(np.int64)
        here: Answers = jumps.take(blocks).astype(np.int64) - 1
        left = jumps.take(blocks + 1) - here - 1
        rows = np.flatnonzero(left)
        at, left, wanted = here.take(rows), left.take(rows), addresses.take(rows)
        while len(rows):
            half = (left + 1) >> 1
            starts_before = starts.take(at + half) <= wanted
            at += half * starts_before
            left = np.where(starts_before, left - half, half - 1)
            here[rows] = at
            still = np.flatnonzero(left)
            rows, at, left, wanted = (
                rows.take(still),
                at.take(still),
                left.take(still),
                wanted.take(still),
            )
        return here

    def _climb(self, here: Answers, addresses: NDArray[np.uint32]) -> None:
        """Move the answers up until each holds its address."""
        parents, lasts = self._columns.parents, self._columns.v4_lasts
        lost = np.flatnonzero(lasts.take(here) < addresses)
        at, wanted = here.take(lost), addresses.take(lost)
        while len(lost):
            at = parents.take(at).astype(np.int64)
            here[lost] = at
            still = np.flatnonzero(lasts.take(at) < wanted)
            lost, at, wanted = lost.take(still), at.take(still), wanted.take(still)


class V6Search:
    """Over subnets of IPv6, numbered on after those of IPv4."""

    __slots__ = ("_columns", "_first", "_high", "_last_high", "_last_low", "_low", "_parents")

    def __init__(self, columns: TreeColumns) -> None:
        self._columns = columns
        self._first = len(columns.v4_starts)
        self._high = columns.v6_starts_high.data
        self._low = columns.v6_starts_low.data
        self._last_high = columns.v6_lasts_high.data
        self._last_low = columns.v6_lasts_low.data
        self._parents = columns.parents.data

    def smallest(self, address: int) -> int:
        high, low = address >> 64, address & LOW_64
        begin = bisect_left(self._high, high)
        end = bisect_right(self._high, high, begin)
        here = bisect_right(self._low, low, begin, end) - 1
        while (self._last_high[here], self._last_low[here]) < (high, low):
            here = self._parents[here + self._first] - self._first
        return here + self._first

    def first_from(self, address: int) -> int:
        """The first subnet that starts at the address or after it; one past the last if none does."""
        high, low = address >> 64, address & LOW_64
        begin = bisect_left(self._high, high)
        return bisect_left(self._low, low, begin, bisect_right(self._high, high, begin)) + self._first

    def smallest_batch(self, addresses: NDArray[np.uint64]) -> Answers:
        """For rows of two: the high and the low 64 bits."""
        high, low = addresses[:, 0], addresses[:, 1]
        here = self._last_start(high, low)
        lost = np.flatnonzero(self._ends_before(here, high, low))
        while len(lost):
            here[lost] = self._columns.parents[here[lost] + self._first] - self._first
            lost = lost[self._ends_before(here[lost], high[lost], low[lost])]
        return here + self._first

    def _last_start(self, high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Answers:
        """The last subnet that starts at or before each address."""
        begin = np.searchsorted(self._columns.v6_starts_high, high, "left")
        end = np.searchsorted(self._columns.v6_starts_high, high, "right")
        open_rows = np.flatnonzero(begin < end)
        while len(open_rows):
            middle = (begin[open_rows] + end[open_rows]) // 2
            beyond = self._columns.v6_starts_low[middle] > low[open_rows]
            end[open_rows[beyond]] = middle[beyond]
            begin[open_rows[~beyond]] = middle[~beyond] + 1
            open_rows = open_rows[begin[open_rows] < end[open_rows]]
        return begin - 1

    def _ends_before(
        self, here: Answers, high: NDArray[np.uint64], low: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        last_high, last_low = self._columns.v6_lasts_high[here], self._columns.v6_lasts_low[here]
        is_before: NDArray[np.bool_] = (last_high < high) | ((last_high == high) & (last_low < low))
        return is_before
