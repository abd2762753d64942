"""A real coordinator that receives packages and answers searches, recorded; and what it holds after a cut."""

from __future__ import annotations

import sqlite3
import threading
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import msgspec

from ipmicra.carrier.package import pack
from ipmicra.coordinator.ingest.reindex import note_damage
from ipmicra.coordinator.ingest.worker import IntegrationWorker
from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store import assignments
from ipmicra.coordinator.store.package_bytes.file_store import FilePackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.model.search import SearchAnswer, SearchRequest
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.tantivy.index import TantivyIndex
from ipmicra.testing.page_records import seen
from tests.coordinator.coordinator_process import RunningCoordinator, free_port
from tests.power_cut.crash_states import CrashState
from tests.power_cut.recorder import Recorder, Recording

SITE = "https://bread.example"
PER_PACKAGE = 2
SECONDS_MAX = 60.0
HOUR_S = 3600.0


class TracedCoordinator(RunningCoordinator):
    """`ipmicra coordinator run` under strace, once `recorder` is set."""

    recorder: Recorder | None = None

    def command(self, *words: str) -> list[str]:
        line = super().command(*words)
        return line if self.recorder is None else self.recorder.traced(line)


def record(folder: Path, waves: int) -> Recording:
    """Packages come in waves; each is found before the next comes. Marks name acknowledged packages."""
    data = folder / "data"
    data.mkdir()
    running = TracedCoordinator(data, f"sqlite:///{data / 'coordinator.sqlite'}", free_port(), {})
    running.log = folder / "log"
    Database(running.database).close()
    token = msgspec.json.decode(running.rows("register", "lima", "--json"))["token"]
    assign_site(running.database)
    recorder = running.recorder = Recorder(data, folder / "traces")
    running.start()
    try:
        host = running.host("lima", token)
        for wave in range(waves):
            for sequence in (2 * wave + 1, 2 * wave + 2):
                assert host.send_package(sequence, package(sequence)).status == 200
                recorder.mark(str(sequence))
            await_found(running.address, 2 * (wave + 1) * PER_PACKAGE)
    finally:
        running.stop()
    recording = recorder.recording()
    recording.check_complete()
    return recording


def assign_site(address: str) -> None:
    with closing(Database(address)) as database, database.begin() as connection:
        assignments.record_assignments(connection, [(SITE, "lima")], time.time())


def package(sequence: int) -> bytes:
    pages = [seen(url, f"Loaf {url[-3:]}", "<p>rye bread</p>") for url in urls(sequence)]
    return pack(pages, "lima", sequence)


def urls(sequence: int) -> list[str]:
    return [f"{SITE}/{sequence}-{page}" for page in range(PER_PACKAGE)]


def await_found(address: str, count: int) -> None:
    end = time.monotonic() + SECONDS_MAX
    while found_by_http(address) < count:
        assert time.monotonic() < end, "the pages are not found"
        time.sleep(0.02)


def found_by_http(address: str) -> int:
    with urllib.request.urlopen(f"{address}/api/search?q=rye", timeout=10) as answer:
        return msgspec.json.decode(answer.read(), type=SearchAnswer).total


# --- after the cut ------------------------------------------------------------------------------------


def check(state: CrashState, data: Path) -> None:
    """What was acknowledged is found once, after nothing but an ordinary start."""
    if state.is_killed_only and (data / "index").exists():
        check_rows_come_second(data)
    restart(data)
    acknowledged = {int(mark.what) for mark in state.marks}
    states = package_states(data)
    assert acknowledged <= set(states), f"acknowledged {acknowledged}, there are {states}"
    assert set(states.values()) <= {"integrated"}, states
    expected = sorted(url for sequence in states for url in urls(sequence))
    assert found_in(data / "index") == expected


def check_rows_come_second(data: Path) -> None:
    """A package that counts as integrated is found without any repair."""
    integrated = [sequence for sequence, state in package_states(data).items() if state == "integrated"]
    if not integrated:
        return
    with closing(TantivyIndex(data / "index", fills=False)) as index:
        answer = index.search(SearchRequest(text="rye", limit=100, per_site=0))
        there = {hit.url for hit in answer.hits}
    assert {url for sequence in integrated for url in urls(sequence)} <= there


def restart(data: Path) -> None:
    """What `ipmicra coordinator run` does with its files, until nothing is left to do."""
    database = Database(f"sqlite:///{data / 'coordinator.sqlite'}", create=False)
    index, stop = data / "index", threading.Event()

    def clock() -> float:
        return time.time() + HOUR_S  # claims of the dead process have run out

    def on_look(looks: list[int]) -> bool:
        looks.append(1)
        if len(looks) > 1:
            stop.set()
        return True

    with closing(database):
        damage = open_or_set_aside(index)
        if damage is not None:
            note_damage(database, damage, clock())
        looks: list[int] = []
        worker = IntegrationWorker(
            database,
            FilePackageStore(data / "packages"),
            index,
            "worker",
            CoordinatorSettings(),
            clock,
            lambda: on_look(looks),
        )
        worker.run(stop)


def package_states(data: Path) -> dict[int, str]:
    with closing(sqlite3.connect(data / "coordinator.sqlite")) as rows:
        return dict(rows.execute("SELECT sequence, state FROM package"))


def found_in(index_folder: Path) -> list[str]:
    with closing(TantivyIndex(index_folder, fills=False)) as index:
        answer = index.search(SearchRequest(text="rye", limit=100, per_site=0))
        assert index.page_count() == answer.total
        return sorted(hit.url for hit in answer.hits)
