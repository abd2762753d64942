"""First addresses and prefix lengths, as arrays -> the bounds of CIDR blocks.

Invariant: the same judgement as `texts.prefix_range`, for many at a time: not `ok` where the length is too
great or bits are set behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipmicra.registry.parsers.accumulator import RangeBounds
from ipmicra.registry.parsers.fields import Numbers, Truths

ALL_64 = np.uint64((1 << 64) - 1)


def ipv4_blocks(first: Numbers, length: Numbers) -> tuple[RangeBounds, Truths]:
    """Bounds of IPv4 prefixes."""
    ok = length <= 32
    free = np.uint64(32) - np.minimum(length, np.uint64(32))
    behind = (np.uint64(1) << free) - np.uint64(1)
    ok &= (first & behind) == 0
    zero = np.zeros(len(first), np.uint64)
    return RangeBounds(zero, first, zero, first | behind), ok


def ipv6_blocks(high: Numbers, low: Numbers, length: Numbers) -> tuple[RangeBounds, Truths]:
    """Bounds of IPv6 prefixes."""
    ok = length <= 128
    bits = np.minimum(length, np.uint64(128)).astype(np.int64)
    high_behind, low_behind = _behind(bits), _behind(np.maximum(bits - 64, 0))
    ok &= ((high & high_behind) == 0) & ((low & low_behind) == 0)
    return RangeBounds(high, low, high | high_behind, low | low_behind), ok


def _behind(bits: NDArray[np.int64]) -> Numbers:
    """All ones behind the first `bits` of 64; a shift by 64 is not defined, hence the choice."""
    shift = np.minimum(bits, 63).astype(np.uint64)
    return np.where(bits >= 64, np.uint64(0), ALL_64 >> shift)


def ipv4_runs(first: Numbers, count: Numbers) -> tuple[RangeBounds, Truths]:
    """Bounds of a range of `count` addresses from the first on."""
    ok = (count > 0) & (first + count <= np.uint64(1 << 32))
    zero = np.zeros(len(first), np.uint64)
    return RangeBounds(zero, first, zero, first + count - np.uint64(1)), ok
