"""What must last is synced, and in the right order: each sync is seen as the kernel is asked for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ipmicra.carrier.journal import Journal
from ipmicra.carrier.package import digest_of, pack
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.search.catalogue.page_catalogue import PageCatalogue
from tests.coordinator.ingest.ingest_harness import NOW, PAGE, IntegrationHarness

FULL = 2


class Recorder:
    """What is synced and renamed, by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps: list[tuple[str, str]] = []
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._synced(getattr(os, name)))
        replace = Path.replace

        def renamed(path: Path, target: Path) -> Path:
            self.steps.append(("rename", Path(target).name))
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", renamed)

    def _synced(self, sync: object) -> object:
        def synced(handle: int) -> None:
            self.steps.append(("sync", Path(f"/proc/self/fd/{handle}").readlink().name))
            sync(handle)  # type: ignore[operator]

        return synced


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    return Recorder(monkeypatch)


def test_a_package_is_synced_then_named_then_its_folder_is_synced(
    recorder: Recorder, tmp_path: Path
) -> None:
    data = b"a package"
    digest = digest_of(data)
    FilePackageStore(tmp_path / "packages").keep(digest, data)
    assert recorder.steps == [
        ("sync", "packages"),
        ("sync", f".{digest}.unfinished"),
        ("rename", digest),
        ("sync", digest[:2]),
    ]


def test_a_package_that_is_there_already_is_made_to_last_before_it_is_acknowledged(
    recorder: Recorder, tmp_path: Path
) -> None:
    store, data = FilePackageStore(tmp_path / "packages"), b"a package"
    store.keep(digest_of(data), data)
    recorder.steps.clear()
    store.keep(digest_of(data), data)
    assert recorder.steps == [("sync", digest_of(data)[:2])]


def test_the_catalogue_syncs_what_it_commits(tmp_path: Path) -> None:
    catalogue = PageCatalogue(tmp_path / "catalogue.sqlite")
    (level,) = catalogue._database.execute("PRAGMA synchronous").fetchone()
    catalogue.close()
    assert level == FULL


def test_the_coordinators_database_syncs_what_it_commits(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'coordinator.sqlite'}")
    with database.read() as connection:
        level = connection.exec_driver_sql("PRAGMA synchronous").scalar()
    database.close()
    assert level == FULL


def test_rows_are_written_after_the_index_has_committed(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A death in between must repeat the work, not lose it."""
    kitchen = IntegrationHarness(database, tmp_path)
    kitchen.send(pack([PAGE], "lima", 1), 1)

    def die() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kitchen.index, "commit", die)
    with pytest.raises(KeyboardInterrupt):
        Integrator(database, kitchen.store, kitchen.index, "worker", 60.0).integrate_pending(NOW)
    assert kitchen.states() == {"kept": 1}
    kitchen.index.close()


def test_the_journal_of_a_spool_is_synced_before_it_counts(recorder: Recorder, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1.journal", None)
    recorder.steps.clear()
    journal.append([PAGE])
    journal.close()
    assert recorder.steps == [("sync", "1.journal")]
