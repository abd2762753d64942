"""Work that takes a moment -> its result, from few threads of its own.

Invariant: at most so many wait; whoever comes then is refused at once, so that expensive questions neither
hold up the event loop nor anybody else's threads, and memory is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class PoolBusy(Exception):
    """Too many wait already: ask again later."""


class BoundedPool:
    """A few threads and a bounded queue."""

    def __init__(self, name: str, threads: int, waiting_max: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._capacity = threads + waiting_max

    async def run(
        self,
        work: Callable[Arguments, Result],
        *positional: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Result:
        """Raises PoolBusy."""
        if self._capacity <= 0:
            raise PoolBusy
        self._capacity -= 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, partial(work, *positional, **named))
        finally:
            self._capacity += 1

    def close(self) -> None:
        self._threads.shutdown()
