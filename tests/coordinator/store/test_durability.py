"""What must last is synced, and in the right order: each sync is seen as the kernel is asked for it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ipmicra.carrier.journal import Journal
from ipmicra.carrier.package import digest_of, pack
from ipmicra.carrier.spool import Spool
from ipmicra.coordinator.bundles.keys import make_keys
from ipmicra.coordinator.ingest.integrator import Integrator
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.host.code.slots import Slots
from ipmicra.protocol.bundle_format import pack as pack_code
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
        ("sync", tmp_path.name),
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


def test_a_folder_that_a_dead_process_has_made_is_synced_before_a_package_in_it_counts(
    recorder: Recorder, tmp_path: Path
) -> None:
    store, data = FilePackageStore(tmp_path / "packages"), b"a package"
    (tmp_path / "packages" / digest_of(data)[:2]).mkdir()
    recorder.steps.clear()
    store.keep(digest_of(data), data)
    assert recorder.steps[0] == ("sync", "packages")


def test_a_signing_key_is_written_when_it_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: sizes.append(os.fstat(handle).st_size))
    make_keys(tmp_path / "keys", "root", 1)
    (path,) = (tmp_path / "keys").glob("*.pem")
    assert path.stat().st_size in sizes


def test_the_catalogue_syncs_what_it_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*words: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*words, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    catalogue = PageCatalogue(tmp_path / "catalogue.sqlite")
    levels = [connection.execute("PRAGMA synchronous").fetchone() for connection in opened]
    catalogue.close()
    assert levels == [(FULL,)]


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
        Integrator(database, kitchen.store, kitchen.index, "worker", kitchen.settings).integrate_pending(
            NOW
        )
    assert kitchen.states() == {"kept": 1}
    kitchen.index.close()


def test_the_journal_of_a_spool_is_synced_before_it_counts(recorder: Recorder, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "1.journal", None)
    recorder.steps.clear()
    journal.append([PAGE])
    journal.close()
    assert recorder.steps == [("sync", "1.journal")]


def test_the_name_of_a_new_journal_lasts_before_anything_in_it_counts(
    recorder: Recorder, tmp_path: Path
) -> None:
    spool = Spool(tmp_path / "spool", "lima")
    assert recorder.steps == [("sync", tmp_path.name), ("sync", "spool")]
    spool.append([PAGE], 0.0)
    recorder.steps.clear()
    spool.seal()
    spool.close()
    assert recorder.steps[0] == ("sync", "spool"), (
        "the next journal has its name before the package is made"
    )


def test_a_slot_of_code_has_its_name_before_the_state_names_it(
    recorder: Recorder, tmp_path: Path
) -> None:
    Slots(tmp_path / "code").stage("1.1", pack_code("1.1", "crawler", {"crawler.py": b"code"}))
    assert recorder.steps[-5:] == [
        ("sync", "A"),
        ("sync", "code"),
        ("sync", ".slots.json.unfinished"),
        ("rename", "slots.json"),
        ("sync", "code"),
    ]
