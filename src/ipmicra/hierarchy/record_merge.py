"""Facts of many records -> facts of the distinct ranges.

The rule for equal ranges: for each fact, the first appended record that states it is used. So a
delegated file gives the holder and the status of a range, and a routing table that is appended after it
adds the AS number. A later record never overrules an earlier one.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value", bound=np.generic)


def first_stated(
    column: NDArray[Value], order: NDArray[np.int64], is_first: NDArray[np.bool_], blank: int
) -> NDArray[Value]:
    """One value a distinct range: of each run of equal ranges the first that is not blank."""
    ordered = column[order]
    merged = ordered[is_first]
    if len(merged) == len(ordered):
        return merged
    silent = np.flatnonzero(
        (merged == blank) & (np.diff(np.flatnonzero(is_first), append=len(order)) > 1)
    )
    if len(silent):
        _fill(merged, silent, ordered, is_first, blank)
    return merged


def _fill(
    merged: NDArray[Value],
    silent: NDArray[np.int64],
    ordered: NDArray[Value],
    is_first: NDArray[np.bool_],
    blank: int,
) -> None:
    """Give the ranges whose first record is silent what a later record of theirs says first."""
    speaking = np.flatnonzero((ordered != blank) & ~is_first)
    ranges = np.cumsum(is_first)[speaking] - 1
    opens = np.ones(len(ranges), np.bool_)
    opens[1:] = ranges[1:] != ranges[:-1]
    ranges, speaking = ranges[opens], speaking[opens]
    wanted = np.isin(ranges, silent, assume_unique=True)
    merged[ranges[wanted]] = ordered[speaking[wanted]]
