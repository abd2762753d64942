"""A stretch of a test -> how far this process's resident memory rose above where it stood before."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET_PEAK = "5"  # proc(5): written to clear_refs, sets the peak back to what is resident now


class Rise:
    bytes = 0


@contextlib.contextmanager
def rise_of_memory() -> Iterator[Rise]:
    """`Rise.bytes` afterwards: the peak during the block, less what was resident at its start."""
    rise = Rise()
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    before = _kib("VmRSS")
    yield rise
    rise.bytes = (_kib("VmHWM") - before) << 10


def _kib(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])
