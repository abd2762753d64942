"""This process -> before all ordinary ones, where we may."""

from __future__ import annotations

import os


def in_real_time(priority: int) -> bool:
    """Ask for SCHED_FIFO; False where the machine forbids it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True
