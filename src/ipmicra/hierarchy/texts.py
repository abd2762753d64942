"""Many texts, few of them different -> numbers, and back.

`Texts` numbers texts while a tree is being made; `PackedTexts` is what remains of it in the finished
tree: two arrays, which may be a mapped file, so that a tree with millions of names opens at once.
Invariant: number 0 is the blank text in a `Texts`, so an absent value is 0 everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


class TextTable:
    """Texts numbered in the order in which they were first seen; the blank text is 0."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}

    def number(self, text: str) -> int:
        """The number of this text, a new one if it is new."""
        return self._numbers.setdefault(text, len(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def texts(self) -> list[str]:
        """All texts; the text of number n is at place n."""
        return list(self._numbers)


@dataclass(frozen=True)
class PackedTexts:
    """Texts by number in two arrays: `letters` holds them in UTF-8, `bounds` says where each begins."""

    bounds: NDArray[np.int64]
    letters: NDArray[np.uint8]

    @classmethod
    def of(cls, texts: Iterable[str]) -> PackedTexts:
        """Lone surrogates, which no UTF-8 can hold, become question marks."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        bounds = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(text) for text in encoded], out=bounds[1:])
        return cls(bounds, np.frombuffer(b"".join(encoded), np.uint8))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(f"text {number} does not exist; there are {len(self)} texts")
        return self.letters[self.bounds[number] : self.bounds[number + 1]].tobytes().decode()
