"""The kernel's CPU counters -> whether others use this machine.

Invariant: averaged over some seconds. Where the kernel gives no counters, the machine counts as in use.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

IN_USE_SHARE = 0.15  # of one CPU, by others: more than an idle desktop uses
SAMPLE_SECONDS = 4.0
_STAT = Path("/proc/stat")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class CpuIdleMonitor:
    """`ours` returns the CPU seconds that we have used so far."""

    def __init__(
        self,
        ours: Callable[[], float],
        busy: Callable[[], float | None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ours, self._busy, self._clock = ours, busy or busy_seconds, clock
        self._seen = (clock(), self._busy(), ours())
        self.is_idle = False

    def update(self) -> bool:
        """Whether the machine is idle except for us, by the latest sample."""
        now = self._clock()
        before, busy_before, ours_before = self._seen
        if now - before < SAMPLE_SECONDS:
            return self.is_idle
        busy, ours = self._busy(), self._ours()
        self._seen = (now, busy, ours)
        if busy is None or busy_before is None:
            self.is_idle = False
        else:
            others = (busy - busy_before) - (ours - ours_before)
            self.is_idle = others / (now - before) < IN_USE_SHARE
        return self.is_idle


def busy_seconds() -> float | None:
    """CPU seconds of all processors together since the machine was started."""
    try:
        _, user, nice, system, _, _, irq, softirq, *_ = _STAT.read_text().splitlines()[0].split()
    except (OSError, ValueError, IndexError):
        return None
    return sum(map(int, (user, nice, system, irq, softirq))) / _TICKS_PER_SECOND
