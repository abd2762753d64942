"""Bytes -> a file that survives a power cut: whole under its final name, or not there at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_durably(path: Path, *parts: bytes | bytearray) -> None:
    """Write beside, sync, rename, sync the folder. A half-written file never bears the name."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    with unfinished.open("wb") as file:
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames, creations and removals in `folder` last."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
