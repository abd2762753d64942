"""A crawl's limit of pages -> one page at a time, for one process or for several that share it."""

from __future__ import annotations

from multiprocessing.sharedctypes import Synchronized
from typing import Protocol


class PageLimit(Protocol):
    """How many more pages may be fetched."""

    def is_used_up(self) -> bool: ...
    def reserve(self) -> bool:
        """One page; False when none is left."""
        ...

    def unreserve(self) -> None:
        """One page that was reserved and not fetched."""
        ...


class NoLimit:
    def is_used_up(self) -> bool:
        return False

    def reserve(self) -> bool:
        return True

    def unreserve(self) -> None:
        return None


class OwnLimit:
    """The limit of a crawl of one process."""

    def __init__(self, pages: int) -> None:
        self._left = max(0, pages)

    def is_used_up(self) -> bool:
        return self._left == 0

    def reserve(self) -> bool:
        if self._left == 0:
            return False
        self._left -= 1
        return True

    def unreserve(self) -> None:
        self._left += 1


class SharedLimit:
    """The limit of a crawl of several processes: a number in memory that they share."""

    def __init__(self, left: Synchronized[int]) -> None:
        self._left = left

    def is_used_up(self) -> bool:
        return self._left.value <= 0

    def reserve(self) -> bool:
        with self._left.get_lock():
            if self._left.value <= 0:
                return False
            self._left.value -= 1
            return True

    def unreserve(self) -> None:
        with self._left.get_lock():
            self._left.value += 1
