"""Rows, now and again -> figures of this moment, and a short history for the curves.

Law: one sampler a process, however many look on. It works at most a twentieth of the time: the longer a
look at the rows takes, the longer it waits for the next.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

from ipmicra.coordinator.decided import Decisions
from ipmicra.coordinator.figures import Figures, figures
from ipmicra.coordinator.service.rooms import Rooms

PAUSE_SECONDS = 2.0
PAUSE_SECONDS_MAX = 60.0
RESTING_FACTOR = 20
RATE_SECONDS = 30.0  # pages a second are averaged over this
HISTORY_SAMPLES = 600

_log = logging.getLogger(__name__)


class Point(NamedTuple):
    """What the curves are made of."""

    at_s: float
    pages: int
    fetches: int
    pages_a_second: float
    saved_byte_ms: float


class Sample(NamedTuple):
    figures: Figures
    point: Point


class Sampler:
    """Looks, remembers, and tells whoever watches."""

    def __init__(self, rooms: Rooms, page_count: Callable[[], int]) -> None:
        self._rooms = rooms
        self._page_count = page_count
        self.decisions = Decisions()
        self.history: deque[Point] = deque(maxlen=HISTORY_SAMPLES)
        self.latest: Sample | None = None
        self._changed = asyncio.Event()
        self._looking = asyncio.Lock()
        self.is_closed = False

    async def work(self) -> None:
        """Until it is cancelled."""
        while True:
            began = time.monotonic()
            try:
                await self.look()
            except Exception as error:
                _log.error("cannot take the figures", extra={"why": str(error)})
            took = time.monotonic() - began
            pause = min(max(PAUSE_SECONDS, took * RESTING_FACTOR), PAUSE_SECONDS_MAX)
            await asyncio.sleep(pause)

    async def look(self) -> Sample:
        """Take a sample now."""
        async with self._looking:
            found = await self._rooms.aside(self._figures)
            point = self._point(found)
            self.history.append(point)
            self.latest = Sample(found, point)
        self._tell()
        return self.latest

    async def now(self) -> Sample:
        """The latest sample; the first one is taken when it is asked for."""
        return self.latest or await self.look()

    async def samples(self, patience_s: float) -> AsyncIterator[Sample | None]:
        """Each new sample; None where there was none for so long. Ends when the sampler is closed."""
        seen = await self.now()
        yield seen
        while not self.is_closed:
            if self.latest is seen:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), patience_s)
            news = self.latest if self.latest is not seen else None
            seen = news or seen
            yield news

    def close(self) -> None:
        self.is_closed = True
        self._tell()

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _figures(self) -> Figures:
        with self._rooms.database.read() as connection:
            return figures(connection, self.decisions, self._rooms.clock())

    def _point(self, found: Figures) -> Point:
        since = next((p for p in self.history if p.at_s >= found.at_s - RATE_SECONDS), None)
        rate = 0.0
        if since is not None and found.at_s > since.at_s:
            rate = max(0, found.fetches - since.fetches) / (found.at_s - since.at_s)
        return Point(found.at_s, self._page_count(), found.fetches, rate, found.saved_byte_ms)
