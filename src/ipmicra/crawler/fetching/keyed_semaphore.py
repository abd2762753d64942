"""Waiters with a key -> entry in the order of arrival, at most a given number at a time per key.

Invariant: an unused key leaves nothing behind, so millions of sites cost nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

SemaphoreKey = TypeVar("SemaphoreKey", bound=Hashable)


class KeyedSemaphore(Generic[SemaphoreKey]):
    """Counts holders per key; further ones wait."""

    def __init__(self) -> None:
        self._inside: dict[SemaphoreKey, int] = {}
        self._waiting: dict[SemaphoreKey, deque[tuple[int, asyncio.Future[None]]]] = {}

    def held(self, key: SemaphoreKey) -> int:
        return self._inside.get(key, 0)

    @property
    def keys_in_use(self) -> set[SemaphoreKey]:
        """Keys that are held or waited for."""
        return {*self._inside, *self._waiting}

    def try_acquire(self, key: SemaphoreKey, limit: int) -> bool:
        """Acquire if fewer than `limit` hold the key and none waits; `release` must follow."""
        inside = self._inside.get(key, 0)
        if inside >= limit or key in self._waiting:
            return False
        self._inside[key] = inside + 1
        return True

    async def acquire(self, key: SemaphoreKey, limit: int) -> None:
        """Wait until fewer than `limit` hold the key; `release` must follow."""
        if self.try_acquire(key, limit):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append((limit, turn))
        try:
            await turn
        except asyncio.CancelledError:
            self._withdraw(key, limit, turn)
            raise

    def release(self, key: SemaphoreKey) -> None:
        inside = self._inside[key] - 1
        if inside:
            self._inside[key] = inside
        else:
            del self._inside[key]
        if key in self._waiting:
            self._wake_next(key)

    def _wake_next(self, key: SemaphoreKey) -> None:
        waiting = self._waiting[key]
        while waiting and self._inside.get(key, 0) < waiting[0][0]:
            _, turn = waiting.popleft()
            if not turn.done():
                self._inside[key] = self._inside.get(key, 0) + 1
                turn.set_result(None)
        if not waiting:
            del self._waiting[key]

    def _withdraw(self, key: SemaphoreKey, limit: int, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            self.release(key)  # woken and cancelled at the same time
            return
        waiting = self._waiting.get(key)
        if waiting is not None and (limit, turn) in waiting:
            waiting.remove((limit, turn))
            if not waiting:
                del self._waiting[key]
