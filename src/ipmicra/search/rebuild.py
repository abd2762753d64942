"""Packages -> an index made anew beside the one in use, which it replaces when it is complete.

Invariant: the index in use answers until the new one takes its place, and a kill at any moment leaves one
of the two. A process that writes to an index or replaces it holds its lock; readers need none and open it
again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ipmicra.carrier.durable import sync_folder
from ipmicra.errors import HostFault, OperatorFault

LOCK_SECONDS_MAX = 600.0  # a writer closes the index when nothing is left to integrate
_LOOK_SECONDS = 0.05


def building_folder(index_folder: Path) -> Path:
    return index_folder.with_name(f"{index_folder.name}.new")


def _replaced_folder(index_folder: Path) -> Path:
    return index_folder.with_name(f"{index_folder.name}.old")


def _is_complete_mark(index_folder: Path) -> Path:
    return building_folder(index_folder) / "complete"


@contextmanager
def writing(index_folder: Path, patience_s: float = LOCK_SECONDS_MAX) -> Iterator[None]:
    """The right to write to the index in this folder, or to replace it: one process at a time."""
    with _locked(index_folder.with_name(f"{index_folder.name}.lock"), patience_s):
        yield


@contextmanager
def building(index_folder: Path) -> Iterator[Path]:
    """An empty folder to make the index anew in; one process at a time."""
    lock = index_folder.with_name(f"{index_folder.name}.new.lock")
    try:
        with _locked(lock, 0.0):
            finish_swap(index_folder)
            folder = building_folder(index_folder)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            yield folder
            shutil.rmtree(folder, ignore_errors=True)  # where it was not swapped in
    except TimeoutError as error:
        raise OperatorFault(
            f"the index {index_folder} is being made anew by another process: let it finish"
        ) from error


def swap_in(index_folder: Path) -> None:
    """Put the complete new index into place. To be called while `writing`."""
    mark = _is_complete_mark(index_folder)
    mark.touch()
    sync_folder(mark.parent)
    _finish(index_folder)


def finish_swap(index_folder: Path) -> None:
    """At start: end a swap that a death interrupted, and forget what was half made."""
    with writing(index_folder):
        if _is_complete_mark(index_folder).exists():
            _finish(index_folder)
        elif _replaced_folder(index_folder).exists() and not index_folder.exists():
            _replaced_folder(index_folder).rename(index_folder)


def _finish(index_folder: Path) -> None:
    replaced = _replaced_folder(index_folder)
    shutil.rmtree(replaced, ignore_errors=True)
    if index_folder.exists():
        index_folder.rename(replaced)
    building_folder(index_folder).rename(index_folder)
    (index_folder / "complete").unlink(missing_ok=True)
    sync_folder(index_folder.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def set_aside(index_folder: Path, clock: Callable[[], float] = time.time) -> Path:
    """Move a damaged index aside for inspection. Only the last one is kept."""
    for old in index_folder.parent.glob(f"{index_folder.name}.damaged-*"):
        shutil.rmtree(old, ignore_errors=True)
    aside = index_folder.with_name(f"{index_folder.name}.damaged-{clock():.0f}")
    index_folder.rename(aside)
    return aside


@contextmanager
def _locked(path: Path, patience_s: float) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HostFault(f"locking {path}: {error}") from error
    try:
        _lock(file, path, patience_s)
        yield
    finally:
        os.close(file)


def _lock(file: int, path: Path, patience_s: float) -> None:
    end = time.monotonic() + patience_s
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= end:
                raise TimeoutError(f"{path} is held by another process") from error
        time.sleep(_LOOK_SECONDS)
