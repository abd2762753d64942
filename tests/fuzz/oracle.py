"""A target and bytes -> nothing, or the finding: too slow, too large, or an exception that nobody expects.

Invariant: time is that of this thread's processor, so that a busy machine is not a finding.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

SECONDS_BASE = 0.5
SECONDS_PER_BYTE = 20e-6  # 1.3 s for 64 KiB: ten times what the slowest honest input takes
MEMORY_BASE_BYTES = 64 << 20
MEMORY_PER_BYTE = 256


class FuzzTarget(NamedTuple):
    """A parser of foreign bytes: its honest inputs, and the exceptions that it promises."""

    run: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    declared: tuple[type[Exception], ...] = ()
    bytes_max: int = 64 << 10


class Finding(AssertionError):
    """An input that breaks a promise."""


def check(target: FuzzTarget, data: bytes, *, with_memory: bool = False) -> None:
    """Run one input. Raises Finding."""
    if with_memory:
        tracemalloc.start()
    started = time.thread_time()
    try:
        target.run(data)
    except target.declared:
        pass
    except Exception as error:
        raise Finding(f"{type(error).__name__} is not declared: {error}") from error
    finally:
        seconds = time.thread_time() - started
        peak = tracemalloc.get_traced_memory()[1] if with_memory else 0
        tracemalloc.stop()
    slow = 10 if with_memory else 1  # tracing costs that much
    if seconds > slow * (SECONDS_BASE + SECONDS_PER_BYTE * len(data)):
        raise Finding(f"{len(data)} bytes take {seconds:.2f} s")
    if peak > MEMORY_BASE_BYTES + MEMORY_PER_BYTE * len(data):
        raise Finding(f"{len(data)} bytes take {peak >> 20} MiB")
