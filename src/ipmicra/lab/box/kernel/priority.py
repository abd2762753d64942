"""This process -> before all ordinary ones, where we may."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

MEASURING_NICENESS = -5


def in_real_time(priority: int) -> bool:
    """Ask for SCHED_FIFO; False where the machine forbids it."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except OSError:
        return False
    return True


@contextlib.contextmanager
def measuring(priority: int) -> Iterator[None]:
    """This thread in real time for a while, so that its own waiting for the processor is not measured."""
    in_real_time(priority)
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def before_others() -> None:
    """Ask for a better place among ordinary processes, so that a busy machine is not what is measured.

    Call it in the first process of a session: where sessions share the processor evenly (autogroup), it is
    the session that is moved, else the process.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, MEASURING_NICENESS)
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(MEASURING_NICENESS))
