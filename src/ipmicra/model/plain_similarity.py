"""Text -> the same 64 bits as `ipmicra.model.similarity` gives, without numpy: for hosts, which need few.

Invariant: bit for bit the same answer; a test holds both to it.
"""

from __future__ import annotations

_WINDOW_BYTES = 8
_TEXT_CHARACTERS_MAX = 8 * 1024
_FEATURES_MIN = 16
_FEATURES_MAX = 255
_SPACE = ord(" ")
_MIX_1 = 0x9E3779B97F4A7C15
_MIX_2 = 0xBF58476D1CE4E5B9
_ALL_BITS = (1 << 64) - 1


def similarity_hash(text: str) -> int:
    """64 bits, of which near-duplicates differ in few; 0 where there is too little text."""
    data = text[:_TEXT_CHARACTERS_MAX].lower().replace("\n", " ").encode("utf-8", "surrogatepass")
    features = _features(data)
    if len(features) < _FEATURES_MIN:
        return 0
    # A byte's bits count from the highest, and the lowest byte of a feature comes first.
    as_read = [int.from_bytes(feature.to_bytes(8, "little"), "big") for feature in features]
    majority = len(features) // 2
    return sum(1 << bit for bit in range(64) if sum(value >> bit & 1 for value in as_read) > majority)


def _features(data: bytes) -> list[int]:
    last = len(data) - _WINDOW_BYTES
    starts = [place for place in range(max(last, 0)) if data[place] == _SPACE]
    if len(starts) < len(data) // 50:
        starts = list(range(max(last, 0)))
    values = []
    for start in starts:
        window = int.from_bytes(data[start + 1 : start + 1 + _WINDOW_BYTES], "little")
        value = window * _MIX_1 & _ALL_BITS
        values.append(value ^ value >> 29)
    if len(values) > _FEATURES_MAX:
        values = sorted(values)[:_FEATURES_MAX]
    mixed = (value * _MIX_2 & _ALL_BITS for value in values)
    return [value ^ value >> 32 for value in mixed]
