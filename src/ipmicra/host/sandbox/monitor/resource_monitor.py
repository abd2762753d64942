"""A sandbox, checked a few times per second -> frozen, thawed or killed, as the owner's limits require.

| observation                                         | action                                     |
|-----------------------------------------------------|--------------------------------------------|
| more CPU or bytes per second than the limit         | frozen until the mean is right again       |
| the host is paused                                  | frozen, except while it handles a request  |
| more disk or more files than the limit              | killed, and logged                         |
| no status update for long, though it is not frozen  | killed, and logged                         |

Invariant: frozen code executes nothing; it cannot prevent this by handling signals. The kernel limits
memory, file size, open files and threads; the filter forbids processes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.launch import Sandbox
from ipmicra.host.sandbox.monitor import usage
from ipmicra.host.sandbox.spec import SandboxLimits

CHECK_SECONDS = 0.1
START_SECONDS = 30.0  # until the first status update, in addition to those of which it may be silent
CHECKS_PER_DISK_CHECK = 3  # one check of the disk per this number of CPU checks


class ResourceMonitor:
    """Watches one sandbox. `on_limit_exceeded` is called with the limit that was exceeded, and ends
    the sandbox.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        state: Path,
        limits: SandboxLimits,
        meter: UsageMeter,
        on_check: Callable[[], None],
        on_limit_exceeded: Callable[[str], None],
        silent_seconds_max: float,
    ) -> None:
        self.is_paused = True
        self._silent_seconds_max = silent_seconds_max
        self._sandbox, self._state, self._limits, self._meter = sandbox, state, limits, meter
        self._on_check, self._on_limit_exceeded = on_check, on_limit_exceeded
        self._open_requests, self._frozen, self._cpu_seen = 0, False, 0.0
        self.silent_seconds = -START_SECONDS  # in which it could have answered
        self._checked_at = time.monotonic()

    def on_status(self) -> None:
        """The code has answered."""
        self.silent_seconds = 0.0

    def _count_silence(self) -> None:
        """Only time in which the code ran, and we too: a check that comes late counts as one in time."""
        now = time.monotonic()
        if not self._frozen:
            self.silent_seconds += min(now - self._checked_at, 2 * CHECK_SECONDS)
        self._checked_at = now
        if self.silent_seconds > self._silent_seconds_max:
            self._on_limit_exceeded(
                f"the crawler's code has not answered for {self._silent_seconds_max:g} s"
            )

    async def watch(self) -> None:
        """Until cancelled."""
        checks = 0
        while True:
            self._on_check()
            self._count_silence()
            self.check()
            if checks % CHECKS_PER_DISK_CHECK == 0:
                await self._check_disk()
            checks += 1
            await asyncio.sleep(CHECK_SECONDS)

    def check(self) -> None:
        """Freeze or thaw, as the limits require now."""
        cpu = usage.cpu_seconds(self._sandbox.pid)
        self._meter.add_guest_cpu(max(0.0, cpu - self._cpu_seen))
        self._cpu_seen = max(cpu, self._cpu_seen)
        over = self._meter.rate_limiter.seconds_to_wait() > 0
        self._freeze((over or self.is_paused) and not self._open_requests)

    @contextmanager
    def thawed(self) -> Iterator[None]:
        """Let the code run while it handles a request of the host."""
        self._open_requests += 1
        self._freeze(False)
        try:
            yield
        finally:
            self._open_requests -= 1
            if self.is_paused and not self._open_requests:
                self._freeze(True)

    def _freeze(self, frozen: bool) -> None:
        if frozen != self._frozen:
            self._frozen = frozen
            (self._sandbox.freeze if frozen else self._sandbox.thaw)()

    async def _check_disk(self) -> None:
        disk = await asyncio.to_thread(usage.disk, self._sandbox.pid, self._state)
        if disk.files > usage.FILES_MAX:
            self._on_limit_exceeded(f"the crawler's code has more than {usage.FILES_MAX:,} files")
        elif disk.taken_bytes > self._limits.disk_bytes_max:
            most = self._limits.disk_bytes_max
            self._on_limit_exceeded(
                f"the crawler's code takes {disk.taken_bytes:,} bytes of disk, of {most:,}"
            )
