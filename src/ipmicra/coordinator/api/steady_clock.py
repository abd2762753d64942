"""The wall clock at the start, the kernel's steady one from then on -> moments that never jump.

A wall clock that is put right by hours, forwards or back, would end every lease, or none for as long. Law:
within a process time runs evenly, suspended machines included; rows of another process whose clock was wrong
are told by lying further ahead than anybody may write.
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
