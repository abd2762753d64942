"""The wall clock at the start, then the kernel's monotonic clock -> times that never jump.

A wall clock that is corrected by hours would end every lease, or none for that time. Invariant: within a
process time runs evenly, also while the machine is suspended; rows of a process with a wrong clock are
recognised because they lie further in the future than any correct row.
"""

from __future__ import annotations

import time


class SteadyClock:
    """Seconds since 1970, by the wall clock as it was when this was made."""

    def __init__(self) -> None:
        self._ahead_s = time.time() - _since_boot_s()

    def __call__(self) -> float:
        return self._ahead_s + _since_boot_s()


def _since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
