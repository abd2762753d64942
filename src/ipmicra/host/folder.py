"""A host's folder: who it is, all it keeps, and a lock so that one process runs it at a time.

Law: everything that ipmicra keeps on a host is in this one folder, so that leaving is removing it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ipmicra.errors import HostFault, OperatorFault
from ipmicra.host.store import FILE as STORE_FILE
from ipmicra.host.store import HostStore

LOCK_FILE = "lock"
FOLDER = "host"  # under the data folder


class HostMembership(NamedTuple):
    """Whose host this is."""

    coordinator: str
    host: str
    contact: str  # whom owners of sites can turn to, as the coordinator says


def is_joined(folder: Path) -> bool:
    return (folder / STORE_FILE).exists()


@contextmanager
def open_store(folder: Path) -> Iterator[HostStore]:
    """The ledger of a host that has joined."""
    if not is_joined(folder):
        raise OperatorFault(f"no host has joined in {folder}; run: ipmicra host join COORDINATOR TOKEN")
    store = HostStore(folder)
    try:
        yield store
    finally:
        store.close()


def membership(store: HostStore) -> HostMembership:
    facts = store.facts()
    try:
        return HostMembership(facts["coordinator"], facts["host"], facts.get("contact", ""))
    except KeyError as error:
        raise OperatorFault("this host has not finished joining; join again") from error


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Be the one process that runs this host."""
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise HostFault(f"the host in {folder} is running already") from error
        yield
    finally:
        os.close(handle)


def is_running(folder: Path) -> bool:
    try:
        with hold_lock(folder):
            return False
    except HostFault:
        return True


def disk_bytes(folder: Path) -> int:
    """What all files in the folder take up."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # sent and removed meanwhile
            total += path.lstat().st_size
    return total


def remove(folder: Path) -> None:
    """Leave nothing behind."""
    shutil.rmtree(folder)
