"""Rows, at intervals -> current statistics, and a short history for the curves.

Invariant: one sampler per process, for any number of viewers. It works at most a tenth of the time: the
longer a sample takes, the longer the pause after it; statistics over all sites are sampled least often.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import NamedTuple

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.views.delegation_cache import DelegationCache
from ipmicra.coordinator.views.statistics import (
    CrawlStatistics,
    DelegationStatistics,
    crawl_statistics,
    delegation_statistics,
)

PAUSE_SECONDS = 2.0
PAUSE_SECONDS_MAX = 60.0
RESTING_FACTOR = 20
RATE_SECONDS = 30.0  # pages per second are averaged over this
HISTORY_SAMPLES = 600

_log = logging.getLogger(__name__)


class SamplePoint(NamedTuple):
    """One point of each curve."""

    at_s: float
    pages: int
    fetches: int
    pages_a_second: float
    saved_byte_ms: float


class StatusSample(NamedTuple):
    crawl_statistics: CrawlStatistics
    delegation_statistics: DelegationStatistics
    point: SamplePoint


class SamplingRate:
    """When to sample again: the pause is proportional to the time that the last sample took."""

    def __init__(self) -> None:
        self._due_s = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due_s

    def rest(self, began_s: float) -> float:
        """Returns the seconds until the next look."""
        now_s = time.monotonic()
        pause_s = min(max(PAUSE_SECONDS, (now_s - began_s) * RESTING_FACTOR), PAUSE_SECONDS_MAX)
        self._due_s = now_s + pause_s
        return pause_s


class Sampler:
    """Takes samples, keeps their history, and notifies the streams."""

    def __init__(self, context: CoordinatorContext, page_count: Callable[[], int]) -> None:
        self._context = context
        self._page_count = page_count
        self.decisions = DelegationCache()
        self._nearness = DelegationStatistics()
        self._far_pace = SamplingRate()
        self.history: deque[SamplePoint] = deque(maxlen=HISTORY_SAMPLES)
        self.latest: StatusSample | None = None
        self._changed = asyncio.Event()
        self._looking = asyncio.Lock()
        self.is_closed = False

    async def work(self) -> None:
        """Until it is cancelled."""
        pace = SamplingRate()
        while True:
            began_s = time.monotonic()
            try:
                if self._far_pace.is_due():
                    await self._look_far()
                    began_s = time.monotonic()
                await self._look_near()
            except Exception as error:
                _log.error("cannot take the figures", extra={"why": str(error)})
            await asyncio.sleep(pace.rest(began_s))

    async def take_sample(self) -> StatusSample:
        """Take a whole sample now."""
        await self._look_far()
        return await self._look_near()

    async def _look_far(self) -> None:
        began_s = time.monotonic()
        async with self._looking:
            self._nearness = await self._context.run_in_thread(self._take_nearness)
        self._far_pace.rest(began_s)

    async def _look_near(self) -> StatusSample:
        async with self._looking:
            found = await self._context.run_in_thread(self._take_figures)
            point = self._point(found)
            self.history.append(point)
            self.latest = StatusSample(found, self._nearness, point)
        self._tell()
        return self.latest

    async def now(self) -> StatusSample:
        """The latest sample; the first one is taken when it is asked for."""
        return self.latest or await self.take_sample()

    async def samples(self, patience_s: float) -> AsyncIterator[StatusSample | None]:
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

    def _take_figures(self) -> CrawlStatistics:
        with self._context.database.read() as connection:
            return crawl_statistics(connection, self._context.clock())

    def _take_nearness(self) -> DelegationStatistics:
        with self._context.database.read() as connection:
            return delegation_statistics(connection, self.decisions, self._context.clock())

    def _point(self, found: CrawlStatistics) -> SamplePoint:
        since = next((p for p in self.history if p.at_s >= found.at_s - RATE_SECONDS), None)
        rate = 0.0
        if since is not None and found.at_s > since.at_s:
            rate = max(0, found.fetches - since.fetches) / (found.at_s - since.at_s)
        return SamplePoint(
            found.at_s, self._page_count(), found.fetches, rate, self._nearness.savings.saved_byte_ms
        )
