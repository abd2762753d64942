"""A database connection -> transactions, and the few facts and counters that describe all of it.

Invariant: counters are numbers in the same transaction as what they count; counting rows would take a
second for each ten million of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

Counter: TypeAlias = Literal["known", "pending", "done", "pages", "sites", "sketch_bytes"]


class FrontierTransaction:
    """The connection and its facts."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database
        self._counters: dict[str, int] = {}
        self._changed = False
        self._durable: bool | None = None  # as last set in SQLite
        self._read_counters()

    @contextmanager
    def transaction(self, durable: bool = False) -> Iterator[None]:
        """All of it or nothing. A durable one survives a power cut once it has ended; any survives
        the death of the process."""
        if durable is not self._durable:
            self.database.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        self.database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._write_counters()
        except BaseException:
            self.database.execute("ROLLBACK")
            self._read_counters()
            raise
        self.database.execute("COMMIT")

    def counter_value(self, name: Counter) -> int:
        return self._counters.get(name, 0)

    def add_to_counter(self, name: Counter, change: int) -> None:
        self._counters[name] = self._counters.get(name, 0) + change
        self._changed = True

    def fact(self, name: str) -> str | int | None:
        row = self.database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def set_fact(self, name: str, value: str | int) -> None:
        self.database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def _read_counters(self) -> None:
        rows = self.database.execute("SELECT name, value FROM facts WHERE name LIKE 'count.%'")
        self._counters = {name.removeprefix("count."): value for name, value in rows}
        self._changed = False

    def _write_counters(self) -> None:
        if self._changed:
            for name, value in self._counters.items():
                self.set_fact(f"count.{name}", value)
            self._changed = False
