"""This process -> before all ordinary ones, where we may."""

from __future__ import annotations

import contextlib
import os

MEASURING_NICENESS = -10


def in_real_time(priority: int) -> bool:
    """Ask for SCHED_FIFO; False where the machine forbids it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True


def before_others() -> None:
    """Ask for a better place among ordinary processes, so that a busy machine is not what is measured."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, MEASURING_NICENESS)
