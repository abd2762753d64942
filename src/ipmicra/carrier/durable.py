"""Bytes -> a file that survives a power cut: whole under its final name, or not there at all."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from mmap import mmap
from pathlib import Path


def write_durably(path: Path, *parts: bytes | bytearray | mmap) -> None:
    """Write beside, sync, rename, sync the folder. A half-written file never has the final name."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make the folder and those above it where they are missing; each lasts on return.

    One that is there is synced too: whoever made it may have died before. A folder above that may not be
    read cannot be synced.
    """
    missing = [above for above in folder.parents if not above.exists()]
    for made in [*reversed(missing), folder]:
        made.mkdir(mode, exist_ok=True)
        with suppress(PermissionError):
            sync_folder(made.parent)


def sync_folder(folder: Path) -> None:
    """Make renames, creations and removals in `folder` last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Alone with `folder` among all threads and processes of this machine that ask for it here."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
