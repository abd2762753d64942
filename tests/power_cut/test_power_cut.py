"""A power cut at any moment of a real run: nothing acknowledged is lost, nothing is indexed twice, all opens.

Each run is recorded once and replayed up to many cuts. `IPMICRA_CUTS=2000` asks for so many (`make crash`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.power_cut import coordinator_run, host_run, search_run, slots_run
from tests.power_cut.crash_states import CrashState, sample
from tests.power_cut.recorder import Recording

CUTS = int(os.environ.get("IPMICRA_CUTS", "30"))
SEED = int(os.environ.get("IPMICRA_CUT_SEED", "20261118"))
WAVES = 2 if CUTS < 1_000 else 6  # of packages; segments are merged when there are eight
IN_MEMORY = Path("/dev/shm")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 2 * CUTS)]


def check_all(
    recording: Recording, check: Callable[[CrashState, Path], None], folder: Path, cuts: int = CUTS
) -> None:
    """Every state that is drawn, by the real recovery; all that fail are named."""
    failed = []
    in_memory = IN_MEMORY if IN_MEMORY.is_dir() else folder
    with TemporaryDirectory(dir=in_memory, ignore_cleanup_errors=True) as disks:
        for number, state in enumerate(sample(recording, cuts, SEED)):
            # A disk for each state: the engine's merges may write for a moment after it was closed.
            disk = Path(disks) / str(number)
            try:
                check(state, state.lay_out(recording.root, disk))
            except Exception as error:
                failed.append(f"{state}: {type(error).__name__}: {error}")
            shutil.rmtree(disk, ignore_errors=True)
    assert not failed, "\n".join([f"{len(failed)} cuts lose what was promised:", *failed[:20]])


def test_a_host_loses_no_page_and_no_site(tmp_path: Path) -> None:
    run = host_run.record(tmp_path)
    check_all(run.recording, partial(host_run.check, run), tmp_path, 3 * CUTS)


def test_a_coordinator_loses_no_package_that_it_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ipmicra.coordinator.ingest.worker.CHECK_SECONDS", 0.0)
    monkeypatch.setattr("ipmicra.coordinator.ingest.worker.AFTER_FAILURE_SECONDS", 0.0)
    check_all(coordinator_run.record(tmp_path, WAVES), coordinator_run.check, tmp_path, 2 * CUTS)


def test_an_index_finds_what_was_committed_to_it(tmp_path: Path) -> None:
    check_all(search_run.record_integration(tmp_path), search_run.check_integration, tmp_path)


def test_an_index_that_is_made_anew_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    check_all(search_run.record_rebuilding(tmp_path), search_run.check_rebuilding, tmp_path)


def test_code_that_has_proved_itself_runs(tmp_path: Path) -> None:
    check_all(slots_run.record(tmp_path), slots_run.check, tmp_path)
