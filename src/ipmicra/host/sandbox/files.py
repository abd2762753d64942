"""Files that dispatched code wrote -> their bytes, for the host, which may read more than the code may.

Invariant: only a regular file in exactly that folder is opened: no link, pipe or device, no file with a
second name, none larger than the limit.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ipmicra.errors import HostFault


def read_inside(folder: Path, within: str, name: str, bytes_max: int) -> bytes:
    """The file `name` of the folder `within` of the state folder. Raises FileNotFoundError, HostFault."""
    if Path(name).name != name or Path(within).name != within:
        raise HostFault(f"{within}/{name} is not the name of one file")
    inner = _open(os.fspath(folder / within), os.O_DIRECTORY)
    try:
        handle = _open(name, os.O_NONBLOCK, inner)
    finally:
        os.close(inner)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > bytes_max:
            raise HostFault(f"{folder / within / name} is not a file that may be sent")
        return file.read(bytes_max)


def remove_inside(folder: Path, within: str, name: str) -> None:
    """Remove the name; a link's target stays."""
    if Path(name).name != name or Path(within).name != within:
        raise HostFault(f"{within}/{name} is not the name of one file")
    try:
        inner = _open(os.fspath(folder / within), os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        os.unlink(name, dir_fd=inner)
        os.fsync(inner)
    except FileNotFoundError:
        return
    finally:
        os.close(inner)


def _open(path: str, flags: int, folder: int | None = None) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HostFault(f"{path} is not what it should be: {error.strerror}") from error
