"""URL texts seen lately -> whether one was among them, in bounded memory.

Pages of one site link mostly to each other, so nine links in ten were seen a moment ago; telling so here
costs a hundredth of a look-up in the tables. Invariant: a text that is not remembered may still be
known, one that is remembered certainly is; so forgetting is always allowed.
"""

from __future__ import annotations

from collections.abc import Iterable


class SeenCache:
    """Between `texts_max` and half as many of the last texts, in two generations."""

    def __init__(self, texts_max: int) -> None:
        self._half = max(1, texts_max // 2)
        self._young: set[str] = set()
        self._old: set[str] = set()

    def unseen(self, texts: Iterable[str]) -> set[str]:
        """The texts that are not in the cache; they are added to it."""
        fresh = set(texts) - self._young - self._old  # `-=` would walk through all that is remembered
        self._young |= fresh
        if len(self._young) > self._half:
            self._old, self._young = self._young, set()
        return fresh

    def __len__(self) -> int:
        return len(self._young) + len(self._old)
