"""Waiting packages -> integrated packages, until stopped: inside the coordinator or as a separate process.

Invariant: the index has one writer, so it is opened while there is something to write, and closed again.
A failure is logged and tried again, never the end of the work. An index that was lost or damaged is
rebuilt, if the operator allows it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from ipmicra.coordinator.api.steady_clock import SteadyClock
from ipmicra.coordinator.ingest import purge
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.ingest.reindex import (
    Reindexer,
    check_completeness,
    note_damage,
    rebuilt_if_allowed,
)
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import packages
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.search.contract import IndexDamaged
from ipmicra.search.factory import open_index
from ipmicra.search.rebuild import set_aside, writing
from ipmicra.search.recovery import open_or_set_aside

CHECK_SECONDS = 1.0  # between two looks for packages
AFTER_FAILURE_SECONDS = 5.0

_log = logging.getLogger(__name__)


@dataclass
class IntegrationWorker:
    """Integrates packages and purges pages.

    `may_work` is asked before each look; `integrated` is called after each handful.
    """

    database: Database
    store: PackageStore
    index_folder: Path
    name: str
    settings: CoordinatorSettings
    clock: Callable[[], float] = field(default_factory=SteadyClock)
    may_work: Callable[[], bool] = lambda: True
    on_integrated: Callable[[], None] = lambda: None

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set."""
        worked = False
        while not stop.is_set():
            try:
                may_work = self.may_work()
                if may_work and not worked:
                    check_completeness(self.database, self.index_folder, self.clock())
                worked = may_work
                if may_work:
                    rebuilt_if_allowed(self._reindexer(stop), self.settings.rebuilds_index)
                    if self._has_work():
                        self._integrate_all(stop)
                stop.wait(CHECK_SECONDS)
            except (IndexDamaged, sqlite3.DatabaseError) as damage:
                self._on_damage(damage)
                worked = False
                stop.wait(AFTER_FAILURE_SECONDS)
            except Exception as error:
                _log.error("integrating failed; it is tried again", extra={"why": str(error)})
                stop.wait(AFTER_FAILURE_SECONDS)

    def _on_damage(self, damage: Exception) -> None:
        _log.error("the search index cannot be written", extra={"why": str(damage)})
        try:
            reason = open_or_set_aside(self.index_folder)
            if reason is None and type(damage) is sqlite3.DatabaseError:  # not locked, not a full disk
                with writing(self.index_folder):
                    set_aside(self.index_folder)
                reason = str(damage)
            if reason is not None:
                note_damage(self.database, reason, self.clock())
        except Exception as error:
            _log.error("the damaged index stays where it is", extra={"why": str(error)})

    def _has_work(self) -> bool:
        with self.database.read() as connection:
            return packages.has_pending(connection, self.clock()) or bool(
                purge.pending_purges(connection)
            )

    def _reindexer(self, stop: threading.Event) -> Reindexer:
        return Reindexer(
            self.database, self.store, self.index_folder, self.clock, should_stop=stop.is_set
        )

    def _integrate_all(self, stop: threading.Event) -> None:
        with (
            writing(self.index_folder),
            closing(open_index(self.index_folder, writable=True)) as index,
        ):
            integrator = Integrator(self.database, self.store, index, self.name, self.settings)
            while not stop.is_set() and integrator.integrate_pending(self.clock()):
                self.on_integrated()
