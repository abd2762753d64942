"""Packages that wait -> integrated, as long as somebody wants it: beside the coordinator or by itself.

Law: the index has one writer, so it is opened while there is something to write, and closed again. A
failure is logged and tried again, never the end of the work.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ipmicra.coordinator.api.steady_clock import SteadyClock
from ipmicra.coordinator.ingest import purge
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import packages
from ipmicra.coordinator.store.database import Database
from ipmicra.coordinator.store.package_files import PackageStore
from ipmicra.search.tantivy.index import TantivyIndex

LOOK_SECONDS = 1.0  # between two looks for packages
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
    integrated: Callable[[], None] = lambda: None

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set."""
        while not stop.is_set():
            try:
                if self.may_work() and self._something_waits():
                    self._integrate_all(stop)
                stop.wait(LOOK_SECONDS)
            except Exception as error:
                _log.error("integrating failed; it is tried again", extra={"why": str(error)})
                stop.wait(AFTER_FAILURE_SECONDS)

    def _something_waits(self) -> bool:
        with self.database.read() as connection:
            return packages.has_pending(connection, self.clock()) or bool(
                purge.pending_purges(connection)
            )

    def _integrate_all(self, stop: threading.Event) -> None:
        index = TantivyIndex(self.index_folder, writable=True)
        try:
            integrator = Integrator(
                self.database,
                self.store,
                index,
                self.name,
                self.settings.claim_seconds,
                self.settings.compared_share,
                self.settings.known_pages,
            )
            while not stop.is_set() and integrator.work(self.clock()):
                self.integrated()
        finally:
            index.close()
