"""The data folder -> whether it exists, is writable, is closed to others, and has free space."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ipmicra.cli.doctor.finding import Result, ok, problem, warning
from ipmicra.cli.doctor.installation import Installation

FOLDER_MODE, FILE_MODE = 0o700, 0o600
OTHERS = 0o077  # permissions of users other than the owner
FREE_BYTES_LEAST = 256 << 20  # a few packages and one commit of the index
FREE_BYTES_LOW = 2 << 30  # a busy crawl writes this in some hours
FREE_FILES_LEAST = 1_000
# Two levels only: deeper are packages, of which there may be millions.
_DATABASES = ("*.sqlite", "*/*.sqlite", "host/*/*.sqlite")
_KEYS = ("*.key", "*/*.key")
_SECRETS = {"coordinator.sqlite", "host.sqlite"}  # with tokens, sessions and addresses


class FreeSpace(NamedTuple):
    available_bytes: int
    available_files: int | None  # None: the file system does not count files


def free_space(folder: Path) -> FreeSpace:
    """The space that this user may still use there."""
    found = os.statvfs(folder)
    return FreeSpace(found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None)


def check_folder(installation: Installation) -> Result:
    folder = installation.data_folder
    if not folder.exists():
        return _missing(installation)
    if not folder.is_dir():
        return problem(
            f"{folder} is a file, not a folder", "move the file away, or set general.data_folder"
        )
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"ipmicra doctor")
            file.flush()
    except OSError as error:
        return problem(
            f"{folder} cannot be written to: {error.strerror}",
            f"make it writable for the user {os.geteuid()}, or set general.data_folder",
        )
    return ok(f"{folder} can be written to")


def _missing(installation: Installation) -> Result:
    folder = installation.data_folder
    if installation.sources.get("general.data_folder", "default") == "default":
        return ok(f"{folder} does not exist yet; the first command that needs it creates it")
    return problem(
        f"{folder} does not exist",
        "correct general.data_folder, mount the disk, or begin here: ipmicra coordinator init",
    )


def check_modes(installation: Installation) -> Result | None:
    folder = installation.data_folder
    if not folder.is_dir():
        return None
    exposed = list(_exposed_files(folder))
    secret = [path for path in exposed if path.name in _SECRETS or path.suffix == ".key"]
    if secret:
        names = " ".join(str(path) for path in secret)
        return problem(f"other users may read {names}", f"run: chmod 600 {names}")
    if _mode(folder) & OTHERS:
        return warning(
            f"{folder} has mode {_mode(folder):04o}: other users of this machine may look into it",
            f"run: chmod {FOLDER_MODE:o} {folder}",
        )
    if exposed:
        names = " ".join(str(path) for path in exposed)
        return warning(
            f"modes of files wider than {FILE_MODE:04o}: {names}", f"run: chmod {FILE_MODE:o} {names}"
        )
    return ok("only their owner can read the folder, its databases and its keys")


def _exposed_files(folder: Path) -> Iterator[Path]:
    for pattern in (*_DATABASES, *_KEYS):
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and _mode(path) & OTHERS:
                yield path


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def check_disk(installation: Installation) -> Result | None:
    folder = installation.data_folder
    if not folder.is_dir():
        return None
    free = free_space(folder)
    written = f"{free.available_bytes / 1e9:,.1f} GB free at {folder}"
    if free.available_bytes < FREE_BYTES_LEAST:
        return problem(written, f"free some space: below {FREE_BYTES_LEAST >> 20} MiB writing fails")
    if free.available_files is not None and free.available_files < FREE_FILES_LEAST:
        return problem(
            f"room for {free.available_files:,} more files at {folder}", "remove files, or move the data"
        )
    if free.available_bytes < FREE_BYTES_LOW:
        return warning(written, "free some space before it is used up")
    return ok(written)
