"""A host's folder: its identity, all its data, and a lock so that one process runs it at a time.

Invariant: everything that ipmicra stores on a host is in this one folder, so leaving means removing it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ipmicra.errors import HostFault, OperatorFault
from ipmicra.host.store import FILE as STORE_FILE
from ipmicra.host.store import HostStore

LOCK_FILE = "lock"
FOLDER = "host"  # under the data folder


class HostMembership(NamedTuple):
    """The coordinator that this host belongs to."""

    coordinator: str
    host: str
    contact: str  # contact address for site owners, from the coordinator


def is_joined(folder: Path) -> bool:
    return (folder / STORE_FILE).exists()


def coordinator_of(folder: Path) -> str:
    """The coordinator's address, read without changing anything; empty where joining was not finished."""
    with closing(
        sqlite3.connect(f"{(folder / STORE_FILE).absolute().as_uri()}?mode=ro", uri=True)
    ) as rows:
        row = rows.execute("SELECT value FROM facts WHERE name = 'coordinator'").fetchone()
    return "" if row is None else str(row[0])


@contextmanager
def open_store(folder: Path) -> Iterator[HostStore]:
    """The store of a host that has joined."""
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
    """Be the only process that runs this host."""
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
    """Bytes that all files in the folder use."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # sent and removed in the meantime
            total += path.lstat().st_size
    return total


def remove(folder: Path) -> None:
    """Remove everything."""
    shutil.rmtree(folder)
