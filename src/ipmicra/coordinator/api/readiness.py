"""The parts of a coordinator -> why it cannot do its work now, by trying each: disk, package store, database.

Invariant: what is tried is what hosts need: bytes that are written and synced, a store that answers, and a
database that writes. The answer is at most `CHECKED_SECONDS` old, however often it is asked for.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.ingest.index_state import index_state
from ipmicra.coordinator.store import blobs
from ipmicra.coordinator.store.package_bytes.file_store import PackageLost, PackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.errors import Fault

CHECKED_SECONDS = 2.0
TRIED_BYTES = 1 << 20  # a disk with less than this left is full
NO_DIGEST = "0" * 64
ROW = "readiness"


class Readiness:
    """What was found out last."""

    def __init__(self, context: CoordinatorContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._checked_s = float("-inf")
        self._problems: list[str] = []

    def problems(self) -> list[str]:
        """Why hosts cannot be served; empty if they can."""
        with self._lock:
            if time.monotonic() - self._checked_s > CHECKED_SECONDS:
                context = self._context
                found = (
                    _folder_problem(context.spool_folder),
                    _store_problem(context.store),
                    _database_problem(context.database, context.clock()),
                )
                self._problems = [problem for problem in found if problem is not None]
                self._checked_s = time.monotonic()
            return self._problems

    def remark(self) -> str:
        """What is wrong and keeps no host away; empty if nothing is."""
        with self._context.database.read() as connection:
            index = index_state(connection)
        return "" if index.is_well else index.in_words()


def _folder_problem(folder: Path | None) -> str | None:
    """Full, read-only, or gone."""
    if folder is None:
        return None
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(TRIED_BYTES))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return f"the data folder cannot be written: {error.strerror or error}"
    return None


def _store_problem(store: PackageStore) -> str | None:
    """A store that answers says that it does not have what was never stored."""
    try:
        store.fetch(NO_DIGEST)
    except PackageLost:
        return None
    except (Fault, OSError) as error:
        return f"the package store does not answer: {error}"
    return None


def _database_problem(database: Database, now_s: float) -> str | None:
    try:
        with database.begin() as connection:
            blobs.save(connection, ROW, b"", now_s)
    except (SQLAlchemyError, OSError) as error:
        said = str(getattr(error, "orig", None) or error)
        return (
            f"the database cannot be written: {said.splitlines()[0] if said else type(error).__name__}"
        )
    return None
