"""Text -> 64 bits that change little with small changes.

A simhash (Charikar 2002; 64 bits and small Hamming distances for web pages as in Manku, Jain and Das Sarma
2007). Its features are the eight bytes from the start of each word of the lower-case text, so the same
passage yields the same features wherever it stands. Of many features those with the least hashes are kept:
two texts that share most of theirs share most of these (Broder 1997).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

_WINDOW_BYTES = 8
_TEXT_CHARACTERS_MAX = 8 * 1024  # share of equal bits above which two pages count as near-duplicates
_FEATURES_MIN = 16  # fewer say nothing about likeness
_SPACE = ord(" ")
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)  # odd constants of splitmix64: every bit of a word
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)  # reaches every bit of its feature
_FEATURES_MAX = 255  # bits that fit a byte when summed

_Bytes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
_Features: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]


def similarity_hash(text: str) -> int:
    """64 bits, of which near-duplicates differ in few; 0 where there is too little text."""
    features = _features(np.frombuffer(_lower_case(text[:_TEXT_CHARACTERS_MAX]), dtype=np.uint8))
    if len(features) < _FEATURES_MIN:
        return 0
    majority = _ones(features) > len(features) // 2
    return int.from_bytes(np.packbits(majority).tobytes(), "big")


def _lower_case(text: str) -> bytes:
    """Words apart by blanks. ASCII, which most text is, is lowered faster as bytes."""
    if text.isascii():
        return text.encode().lower().replace(b"\n", b" ")
    return text.lower().replace("\n", " ").encode("utf-8", "surrogatepass")


def bits_apart(one: int, other: int) -> int:
    """How many of the 64 bits differ."""
    return (one ^ other).bit_count()


def _features(data: _Bytes) -> _Features:
    starts = np.flatnonzero(data[:-_WINDOW_BYTES] == _SPACE)
    if len(starts) < len(data) // 50:  # next to no spaces: Chinese, Japanese, Thai
        starts = np.arange(max(len(data) - _WINDOW_BYTES, 0))
    values = _every_window(data)[starts + 1] * _MIX_1
    values ^= values >> np.uint64(29)
    if len(values) > _FEATURES_MAX:
        values = np.partition(values, _FEATURES_MAX)[:_FEATURES_MAX]
    values *= _MIX_2
    values ^= values >> np.uint64(32)
    return values


def _every_window(data: _Bytes) -> _Features:
    """The eight bytes from each position as one number; overlapping views, nothing is copied."""
    count = max(len(data) - _WINDOW_BYTES + 1, 0)
    return np.ndarray(shape=(count,), dtype=np.uint64, buffer=data, strides=(1,))


def _ones(features: _Features) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """How many features have each of the 64 bits, summed eight byte-wide lanes at a time."""
    bits = np.unpackbits(features.view(np.uint8)).view(np.uint64).reshape(-1, 8)
    ones: np.ndarray[tuple[int], np.dtype[np.uint8]] = np.add.reduce(bits).view(np.uint8)
    return ones
