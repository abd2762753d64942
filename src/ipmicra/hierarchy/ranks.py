"""IPv6 ranges -> the same ranges in small numbers, and back.

128 bits fit no number of numpy's. But nesting only compares bounds, so each bound is replaced by its
place among all bounds. A range becomes (rank of its first address, rank of one past its last, less 1).
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Halves: TypeAlias = tuple[NDArray[np.uint64], NDArray[np.uint64]]  # high and low 64 bits
ONE = np.uint64(1)


class RankedAddresses(NamedTuple):
    """Ranges as ranks, and the addresses behind; the rank after the last is the end of all."""

    starts: NDArray[np.uint32]
    lasts: NDArray[np.uint32]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]

    @classmethod
    def of(cls, starts: NDArray[np.uint64], lasts: NDArray[np.uint64]) -> RankedAddresses:
        """From rows of two halves. One of the ranges starts at zero."""
        end_low = lasts[:, 1] + ONE
        end_high = lasts[:, 0] + (end_low == 0).astype(np.uint64)
        is_end_of_all = (end_low == 0) & (end_high == 0)
        high = np.concatenate((starts[:, 0], end_high))
        low = np.concatenate((starts[:, 1], end_low))
        order = np.lexsort((low, high))
        high, low = high[order], low[order]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.cumsum(is_new) - 1
        start_ranks, end_ranks = ranks[: len(starts)], ranks[len(starts) :]
        end_ranks[is_end_of_all] = int(is_new.sum())
        return cls(start_ranks, end_ranks - np.uint32(1), high[is_new], low[is_new])

    def first_addresses(self, starts: NDArray[np.uint32]) -> Halves:
        return self.high[starts], self.low[starts]

    def last_addresses(self, lasts: NDArray[np.uint32]) -> Halves:
        """One less than the bound after; the end of all is zero, and one less is the last address."""
        ends = lasts.astype(np.int64) + 1
        high, low = np.append(self.high, np.uint64(0))[ends], np.append(self.low, np.uint64(0))[ends]
        return high - (low == 0).astype(np.uint64), low - ONE
