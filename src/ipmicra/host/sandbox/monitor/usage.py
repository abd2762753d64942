"""A running sandbox -> its use of the machine, by the kernel's count.

Invariant: what cannot be read counts as zero, since the process has ended. Removed files that are still
open count, since they use the disk.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

FILES_MAX = 50_000  # in the state folder; more are too many
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_BLOCK_BYTES = 512


class Disk(NamedTuple):
    taken_bytes: int
    files: int


def cpu_seconds(pid: int) -> float:
    """Of all its threads."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def disk(pid: int, folder: Path) -> Disk:
    """The folder, and open files of the process that have no name any more."""
    taken, files = _removed_but_open(pid), 0
    folders = [str(folder)]
    while folders and files <= FILES_MAX:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                files += 1
                if files > FILES_MAX:
                    break
                with suppress(OSError):
                    taken += entry.stat(follow_symlinks=False).st_blocks * _BLOCK_BYTES
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    return Disk(taken, files)


def _removed_but_open(pid: int) -> int:
    taken, seen = 0, set[tuple[int, int]]()
    try:
        handles = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return 0
    for handle in handles:
        with suppress(OSError):
            found = handle.stat()
            if not found.st_nlink and (found.st_dev, found.st_ino) not in seen:
                seen.add((found.st_dev, found.st_ino))
                taken += found.st_blocks * _BLOCK_BYTES
    return taken
