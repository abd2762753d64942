"""The owner's rates and the usage -> when the next request may start.

Invariant: connections, bytes per second and CPU share; nothing that outlives the process. The same on
the host and inside a sandbox, where code that obeys it is never frozen from outside.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ipmicra.host.limits.token_bucket import TokenBucket
from ipmicra.host.settings import HostSettings

RECHECK_SECONDS = 0.5


class HostRateLimiter:
    """Admits what the owner's rates allow. `cpu_seconds` returns the CPU time used so far."""

    def __init__(
        self, settings: HostSettings, cpu_seconds: Callable[[], float] = time.process_time
    ) -> None:
        self._cpu_seconds = cpu_seconds
        self._cpu_seen = cpu_seconds()
        self.apply(settings)

    def apply(self, settings: HostSettings) -> None:
        """Use these rates from now on."""
        self._download = TokenBucket(settings.download_bytes_per_second_max)
        self._cpu = TokenBucket(settings.cpu_share_max)
        self._connections = asyncio.Semaphore(settings.connections_in_use_max())

    @property
    def cpu_share_max(self) -> float:
        return self._cpu.rate_per_second

    @cpu_share_max.setter
    def cpu_share_max(self, share: float) -> None:
        if share != self._cpu.rate_per_second:
            self._cpu = TokenBucket(share)

    @asynccontextmanager
    async def request_slot(self) -> AsyncIterator[None]:
        """One connection, when rate and CPU allow it."""
        async with self._connections:
            while (seconds := self.seconds_to_wait()) > 0:
                await asyncio.sleep(min(seconds, RECHECK_SECONDS))
            yield

    def record_download(self, amount_bytes: int) -> None:
        self._download.consume(amount_bytes, time.monotonic())

    def seconds_to_wait(self) -> float:
        now, cpu = time.monotonic(), self._cpu_seconds()
        self._cpu.consume(cpu - self._cpu_seen, now)
        self._cpu_seen = cpu
        return max(self._download.seconds_to_wait(now), self._cpu.seconds_to_wait(now))
