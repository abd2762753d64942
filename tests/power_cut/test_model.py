"""The recorder and the model find a sync that is missing, and none that is there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from random import Random

import pytest

from tests.power_cut.crash_states import CrashState, sample
from tests.power_cut.disk_model import DiskModel, Tree
from tests.power_cut.file_operations import Open, Operation, Recorded, Remove, Rename, Sync, Write
from tests.power_cut.recorder import Mark, Recorder, Recording

ROOT = PurePosixPath("/d")
NEW, OLD = b"new" * 2_000, b"old"
WRITES: list[Operation] = [Open(ROOT / "part", True, False), Write(ROOT / "part", 0, NEW)]
SYNC_FILE, SYNC_FOLDER = Sync(ROOT / "part"), Sync(ROOT)
NAME = Rename(ROOT / "part", ROOT / "file")


def states(*operations: Operation, before: Tree | None = None) -> list[CrashState]:
    """Of a promise that is made after these operations."""
    recorded = [Recorded(float(number), operation) for number, operation in enumerate(operations)]
    marks = [Mark(len(operations) - 0.5, "written")]
    return sample(Recording(Path(ROOT), before or {}, recorded, marks), 1_000, seed=1)


def holds(state: CrashState) -> bool:
    """The file is whole, once that was promised; before, it is the old one or the new one."""
    content = state.tree.get(ROOT / "file")
    return content == NEW if state.marks else content in {None, OLD, NEW}


@pytest.mark.parametrize(
    ("left_out", "is_safe"),
    [(None, True), (SYNC_FILE, False), (SYNC_FOLDER, False), (NAME, False)],
)
def test_each_missing_step_of_a_durable_file_is_found(left_out: Operation | None, is_safe: bool) -> None:
    steps: list[Operation] = [*WRITES, SYNC_FILE, NAME, SYNC_FOLDER]
    found = states(*(step for step in steps if step != left_out))
    assert all(map(holds, found)) is is_safe
    assert len(found) >= 4


def test_a_name_before_its_bytes_is_found() -> None:
    assert not all(map(holds, states(*WRITES, NAME, SYNC_FOLDER, Sync(ROOT / "file"))))


def test_an_old_file_is_there_until_the_new_one_is() -> None:
    before: Tree = {ROOT / "file": OLD}
    for state in states(*WRITES, SYNC_FILE, NAME, SYNC_FOLDER, before=before):
        assert state.tree[ROOT / "file"] in {OLD, NEW}


def test_two_changes_of_one_entry_happen_in_their_order() -> None:
    model = DiskModel(ROOT, {})
    steps: list[Operation] = [*WRITES, Remove(ROOT / "part"), Open(ROOT / "part", True, False)]
    for operation in steps:
        model.apply(operation)
    first, _, last = model.pending
    assert model.with_earlier([last]) == model.pending
    assert model.with_earlier([first]) == [first]


def test_any_sync_of_an_orderly_disk_makes_earlier_names_last() -> None:
    model = DiskModel(ROOT, {}, is_orderly=True)
    for operation in [*WRITES, SYNC_FILE]:
        model.apply(operation)
    assert model.pending == []
    model.apply(Write(ROOT / "part", None, b"more" * 3_000))
    torn = [model.torn(1, Random(number)) for number in range(50)]
    assert all((NEW + b"more" * 3_000).startswith(content) for content in torn), "it never shows zeros"
    assert len(set(torn)) > 3


_PROGRAM = """
import os, sqlite3, sys, threading
from pathlib import Path
folder = Path(sys.argv[1])
(folder / "inner").mkdir()
rows = sqlite3.connect(folder / "rows.sqlite", isolation_level=None)
rows.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a)")
for number in range(5):
    rows.execute("INSERT INTO t VALUES (?)", (str(number) * 3000,))
def write(name):
    with (folder / "inner" / name).open("ab") as file:
        for part in range(3):
            file.write(f"{name} {part}".encode() * 900)
            file.flush()
            os.fsync(file.fileno())
threads = [threading.Thread(target=write, args=(f"file {n}",)) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
(folder / "inner" / "file 1").rename(folder / "moved")
(folder / "inner" / "file 2").unlink()
with (folder / "moved").open("r+b") as file:
    file.seek(10)
    file.write(b"changed")
    file.truncate(2000)
os._exit(0)
"""


def test_a_recording_explains_every_byte_that_a_program_left(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "data", tmp_path / "traces")
    recorder.run([sys.executable, "-c", _PROGRAM, str(tmp_path / "data")])
    recording = recorder.recording()
    recording.check_complete()
    assert any(isinstance(recorded.operation, Sync) for recorded in recording.operations)


def test_a_write_that_was_not_seen_is_noticed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "data", tmp_path / "traces")
    recorder.run([sys.executable, "-c", _PROGRAM, str(tmp_path / "data")])
    recording = recorder.recording()
    (tmp_path / "data" / "moved").write_bytes(b"by somebody else")
    with pytest.raises(AssertionError, match="moved"):
        recording.check_complete()


_SAVES = """
import os, sys
from pathlib import Path
path, is_synced = Path(sys.argv[1]) / "file", sys.argv[2] == "synced"
with path.with_name("part").open("wb") as file:
    file.write(b"new" * 2000)
    file.flush()
    if is_synced:
        os.fsync(file.fileno())
path.with_name("part").rename(path)
folder = os.open(path.parent, os.O_RDONLY)
os.fsync(folder)
"""


@pytest.mark.parametrize("way", ["synced", "unsynced"])
def test_a_planted_missing_sync_of_a_real_process_is_found(way: str, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "data", tmp_path / "traces")
    recorder.run([sys.executable, "-c", _SAVES, str(tmp_path / "data"), way])
    recorder.mark("written")
    recording = recorder.recording()
    check: Callable[[CrashState], bool] = lambda state: (  # noqa: E731
        not state.marks or state.tree.get(PurePosixPath(recording.root) / "file") == NEW
    )
    assert all(map(check, sample(recording, 100, seed=1))) is (way == "synced")
