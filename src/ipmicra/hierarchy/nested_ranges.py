"""Ranges in any order -> each range once, in the order of a walk through the tree, with its parent.

Ranges are pairs of numbers, start and last (both included), as columns. The whole family is one of
them, so that everything has a parent but it.

The rules:
- a range's parent is the smallest range that encloses it;
- ranges that are equal are one range (their records are merged elsewhere, see `merging`);
- of two ranges that cross, the one that starts later loses the part that lies in the other: a range
  begins after the end of every range that starts before it, reaches into it, and ends before it does.
  So every range keeps its last address, none vanishes, and what remains crosses nothing.

Invariant: no loop over the ranges in Python, but in a part of the address space where ranges cross.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint32]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Nesting(NamedTuple):
    """The distinct ranges, outer before inner, left before right, and the range of each record."""

    starts: Numbers
    lasts: Numbers
    parents: NDArray[np.int32]
    order: Indices  # records in the order of their ranges; of equal ranges the first appended first
    is_first: Mask  # whether the record at this place of `order` opens a new range
    crossing: int  # ranges that were shortened


def nested(starts: Numbers, lasts: Numbers) -> Nesting:
    """Sort, shorten what crosses, find the parents. One of the ranges must enclose all others."""
    order, is_first = _walk_order(starts, lasts)
    distinct = order[is_first]
    outer_starts, outer_lasts = starts[distinct], lasts[distinct]
    parents, misfits = _parents(outer_starts, outer_lasts)
    if not len(misfits):
        return Nesting(outer_starts, outer_lasts, parents, order, is_first, 0)
    shortened = _shortened(outer_starts, outer_lasts, misfits)
    crossing = int((shortened != outer_starts).sum())
    uncrossed = np.empty_like(starts)
    uncrossed[order] = shortened[np.cumsum(is_first) - 1]
    return nested(uncrossed, lasts)._replace(crossing=crossing)


def _walk_order(starts: Numbers, lasts: Numbers) -> tuple[Indices, Mask]:
    """By start, the longest first, equal ranges as they came; and which of them are new."""
    keys = starts.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= ~lasts
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    is_first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return order, is_first


def _parents(starts: Numbers, lasts: Numbers) -> tuple[NDArray[np.int32], Indices]:
    """The parent of each range, -1 for the first; and the ranges that do not fit in their parent.

    The depth of a range is the number of ranges that have begun before it and not yet ended. Its parent
    is the latest one of the depth above. Where ranges cross that is wrong, and only there: if every
    range fits in its parent, the parents' chain of a range is all that is open where it begins.
    """
    depths = _depths(starts, lasts)
    by_depth = np.argsort(depths, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(np.bincount(depths))))
    parents = np.full(len(starts), -1, np.int32)
    for depth in range(1, len(bounds) - 1):
        above = by_depth[bounds[depth - 1] : bounds[depth]]
        level = by_depth[bounds[depth] : bounds[depth + 1]]
        if len(above):
            parents[level] = above[np.searchsorted(above, level) - 1]
    children = np.arange(1, len(starts))
    parent = parents[1:]
    fits = (parent >= 0) & (parent < children) & (lasts[parent] >= lasts[1:])
    return parents, children[~fits]


def _depths(starts: Numbers, lasts: Numbers) -> NDArray[np.int16] | NDArray[np.int32]:
    ended = np.searchsorted(np.sort(lasts), starts, "left")
    depths = np.arange(len(starts), dtype=np.int32)
    depths -= ended.astype(np.int32)
    if depths.max() > np.iinfo(np.int16).max:
        return depths
    return depths.astype(np.int16)  # two bytes sort by radix


def _shortened(starts: Numbers, lasts: Numbers, misfits: Indices) -> Numbers:
    """New starts for the ranges of those parts of the address space that hold a misfit."""
    begins_part = np.ones(len(starts), np.bool_)
    reach = np.maximum.accumulate(lasts[1:])
    begins_part[2:] = starts[2:] > reach[:-1]
    parts = np.flatnonzero(begins_part)
    ends = np.append(parts[1:], len(starts))
    shortened = starts.copy()
    for part in np.unique(np.searchsorted(parts, misfits, "right") - 1):
        piece = slice(parts[part], ends[part])
        shortened[piece] = _starts_after_crossing(starts[piece].tolist(), lasts[piece])
    return shortened


def _starts_after_crossing(starts: list[int], lasts: Numbers) -> list[int]:
    """For ranges in walk order: the start beyond the last of the earlier ones that end inside.

    That end is the greatest of the earlier ranges' ends below our own. So: link all ends by value and
    take the ranges out of the chain from the latest to the earliest; what then precedes us is it.
    """
    count = len(starts)
    by_value = np.lexsort((-np.arange(count), lasts)).tolist()
    below = [-1] * (count + 1)
    above = [count] * (count + 1)
    for lower, upper in pairwise(by_value):
        below[upper], above[lower] = lower, upper
    ends = lasts.tolist()
    for here in range(count - 1, -1, -1):
        lower, upper = below[here], above[here]
        if lower >= 0 and ends[lower] >= starts[here]:
            starts[here] = ends[lower] + 1
        below[upper], above[lower] = lower, upper
    return starts
