"""Integrated packages -> a new index beside the one in use, swapped in when it is complete.

Invariant: the new index equals the integration of the same packages: records are filtered by the same
rules, packages of purged crawlers are left out. Packages are received and integrated during the rebuild;
the last ones are added while no other process may write.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, select, update

from ipmicra.carrier.package import PackageRefused, unpack
from ipmicra.coordinator.ingest.authorisation import RecordFilter
from ipmicra.coordinator.ingest.index_state import (
    IndexCondition,
    IndexState,
    index_state,
    note_index_state,
)
from ipmicra.coordinator.store import events
from ipmicra.coordinator.store.package_bytes.file_store import PackageLost, PackageStore
from ipmicra.coordinator.store.packages import ClaimedPackage, PackageState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import event_table, package_table
from ipmicra.errors import Fault
from ipmicra.search import rebuild
from ipmicra.search.contract import SearchIndex
from ipmicra.search.factory import open_index

AT_ONCE = 64  # packages between two commits of the new index
LEFT_MAX = 16  # so few may be left when the writers are held up for the last of them

_log = logging.getLogger(__name__)


class Rebuilt(NamedTuple):
    packages: int
    pages: int
    missing: list[str]  # packages whose bytes are lost or damaged, and why


class _Row(NamedTuple):
    claim: ClaimedPackage
    left_out: str  # why some of its records were not taken; empty where all were


@dataclass
class Reindexer:
    """Makes the index in `index_folder` anew. `advance(done, total)` is called for each package."""

    database: Database
    store: PackageStore
    index_folder: Path
    clock: Callable[[], float]
    advance: Callable[[int, int], None] = lambda done, total: None
    should_stop: Callable[[], bool] = lambda: False
    opened: Callable[[Path], SearchIndex] = lambda folder: open_index(folder, writable=True)

    def run(self, reason: str) -> Rebuilt | None:
        """None where it was stopped before the end; then the index in use stays."""
        self._since_s = self.clock()
        self._missing: list[str] = []
        self._done: set[tuple[str, int]] = set()
        self._contents = RecordFilter()
        self._reason = reason
        with rebuild.building(self.index_folder) as folder, ExitStack() as held:
            with closing(self.opened(folder)) as index:
                while len(rows := self._to_do()) > LEFT_MAX:
                    if not self._take(index, rows):
                        return None
                held.enter_context(rebuild.writing(self.index_folder))
                if not self._take(index, self._to_do()):
                    return None
                pages = index.page_count()
            rebuild.swap_in(self.index_folder)
            self._note_end(pages)
        return Rebuilt(len(self._done), pages, self._missing)

    def _to_do(self) -> list[_Row]:
        with self.database.read() as connection:
            rows = [row for row in integrated(connection) if _key(row) not in self._done]
        self._total = len(self._done) + len(rows)
        return rows

    def _take(self, index: SearchIndex, rows: list[_Row]) -> bool:
        for number, row in enumerate(rows, 1):
            if self.should_stop():
                return False
            self._take_one(index, row)
            self._done.add(_key(row))
            self.advance(len(self._done), self._total)
            if number % AT_ONCE == 0:
                index.commit()
                self._note_progress()
        index.commit()
        return True

    def _take_one(self, index: SearchIndex, row: _Row) -> None:
        try:
            package = unpack(self.store.fetch(row.claim.digest))
        except (PackageLost, PackageRefused) as reason:
            self._missing.append(f"{row.claim.crawler} {row.claim.sequence}: {reason}")
            _log.error("a package is missing from the new index", extra={"why": str(reason)})
            self._note_lost(row, f"lost: {reason}")
            return
        if row.left_out:
            with self.database.read() as connection:
                package = self._contents.filter(connection, package, row.claim).package
        index.integrate(package, row.claim.digest)

    def _note_lost(self, row: _Row, reason: str) -> None:
        key = (
            package_table.c.crawler == row.claim.crawler,
            package_table.c.sequence == row.claim.sequence,
        )
        with self.database.begin() as connection:
            connection.execute(
                update(package_table).where(*key).values(state=PackageState.REFUSED, reason=reason)
            )

    def _note_progress(self) -> None:
        state = IndexState(
            condition=IndexCondition.REBUILDING,
            reason=self._reason,
            done=len(self._done),
            total=self._total,
            since_s=self._since_s,
        )
        with self.database.begin() as connection:
            note_index_state(connection, state, self.clock())

    def _note_end(self, pages: int) -> None:
        lost = f"; {len(self._missing)} packages could not be read" if self._missing else ""
        summary = f"{len(self._done):,} packages, {pages:,} pages{lost}"
        with self.database.begin() as connection:
            note_index_state(connection, IndexState(), self.clock())
            events.record(connection, events.EventKind.INDEX_REBUILT, "index", summary, self.clock())


def _key(row: _Row) -> tuple[str, int]:
    return row.claim.crawler, row.claim.sequence


def integrated(connection: Connection) -> Iterator[_Row]:
    """Packages that belong into the index, in the order in which they came."""
    columns = package_table.c
    purged = _purged(connection)
    rows = connection.execute(
        select(
            columns.crawler,
            columns.sequence,
            columns.digest,
            columns.epoch,
            columns.received_s,
            columns.reason,
        )
        .where(columns.state == PackageState.INTEGRATED)
        .order_by(columns.received_s, columns.crawler, columns.sequence)
    )
    for crawler, sequence, digest, epoch, received_s, reason in rows:
        if received_s > purged.get(crawler, float("-inf")):
            yield _Row(ClaimedPackage(crawler, sequence, digest, epoch), reason)


def _purged(connection: Connection) -> dict[str, float]:
    """When crawlers were purged: before version 0.2 their packages kept the state of the others."""
    rows = connection.execute(
        select(event_table.c.subject, func.max(event_table.c.at_s))
        .where(event_table.c.kind == "purged")
        .group_by(event_table.c.subject)
    )
    return {row.subject: row[1] for row in rows}


def integrated_count(connection: Connection) -> int:
    """How many packages belong into the index."""
    columns = package_table.c
    if _purged(connection):
        return sum(1 for _ in integrated(connection))
    query = select(func.count()).where(columns.state == PackageState.INTEGRATED)
    return int(connection.execute(query).scalar_one())


def note_damage(database: Database, reason: str, now_s: float) -> None:
    state = IndexState(condition=IndexCondition.DAMAGED, reason=reason, since_s=now_s)
    with database.begin() as connection:
        note_index_state(connection, state, now_s)
        events.record(connection, events.EventKind.INDEX_DAMAGED, "index", reason, now_s)


def check_completeness(database: Database, index_folder: Path, now_s: float) -> None:
    """Write down whether the index has every package that was integrated into it."""
    with closing(open_index(index_folder)) as index:
        there = index.package_count()
    with database.begin() as connection:
        wanted, known = integrated_count(connection), index_state(connection)
        if there >= wanted:
            note_index_state(connection, IndexState(), now_s)
        elif known.condition is not IndexCondition.DAMAGED:
            reason = f"it has {there:,} of {wanted:,} packages that were integrated"
            lost = IndexState(condition=IndexCondition.LOST, reason=reason, since_s=now_s)
            note_index_state(connection, lost, now_s)
            events.record(connection, events.EventKind.INDEX_LOST, "index", reason, now_s)
            _log.error("the search index lacks packages", extra={"why": reason})


def rebuilt_if_allowed(reindexer: Reindexer, is_allowed: bool) -> None:
    """Make the index anew where it is not well. A failure is logged; the next start tries again."""
    with reindexer.database.read() as connection:
        state = index_state(connection)
    if state.is_well or not is_allowed:
        return
    try:
        reindexer.run(state.reason)
    except Fault as fault:
        _log.error("the index could not be made anew", extra={"why": str(fault)})
