"""Two slots of code: trials, roll-back, and power cuts at every step."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ipmicra.errors import HostFault
from ipmicra.host.code.health import TrialObservation, TrialVerdict, verdict
from ipmicra.host.code.slots import Slots
from ipmicra.protocol.bundle_format import BadBundle, pack


def bundle(version: str) -> bytes:
    return pack(version, "crawler", {"crawler.py": f"VERSION = {version!r}\n".encode()})


def proved(folder: Path, *versions: str) -> Slots:
    """Slots in which these versions were staged and proved healthy, one after the other."""
    slots = Slots(folder)
    for version in versions:
        slots.stage(version, bundle(version))
        slots.start_next()
        slots.mark_healthy()
    return slots


def test_nothing_runs_before_something_was_dispatched(tmp_path: Path) -> None:
    assert Slots(tmp_path).start_next() is None


def test_new_code_is_tried_and_kept_when_healthy(tmp_path: Path) -> None:
    slots = proved(tmp_path, "1.0")
    slots.stage("1.1", bundle("1.1"))
    trial = slots.start_next()
    assert trial is not None
    assert (trial.version, trial.is_trial) == ("1.1", True)
    assert "1.1" in (trial.folder / "crawler.py").read_text()
    slots.mark_healthy()
    kept = Slots(tmp_path).start_next()
    assert kept is not None
    assert (kept.version, kept.is_trial) == ("1.1", False)


def test_code_that_fails_twice_is_rolled_back_and_never_tried_again(tmp_path: Path) -> None:
    slots = proved(tmp_path, "1.0")
    slots.stage("1.1", bundle("1.1"))
    slots.start_next()
    slots.mark_failed("it ended by itself")
    again = slots.start_next()
    assert again is not None
    assert again.is_trial, "once is no proof"
    slots.mark_failed("it ended by itself")
    back = slots.start_next()
    assert back is not None
    assert (back.version, back.is_trial) == ("1.0", False)
    with pytest.raises(BadBundle, match=r"1\.1 was tried and failed: it ended by itself"):
        Slots(tmp_path).stage("1.1", bundle("1.1"))
    slots.stage("1.2", bundle("1.2"))


def test_a_trial_that_takes_the_machine_down_is_counted(tmp_path: Path) -> None:
    proved(tmp_path, "1.0").stage("1.1", bundle("1.1"))
    versions = [
        running.version for running in (Slots(tmp_path).start_next() for _ in range(3)) if running
    ]
    assert versions == ["1.1", "1.1", "1.0"]


@pytest.mark.parametrize("version", ["0.9", "1.0", "1.0.0"])
def test_a_version_that_is_not_newer_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(BadBundle, match=r"not newer than 1\.0"):
        proved(tmp_path, "1.0").stage(version, bundle(version))


def test_a_bundle_under_another_name_is_refused_and_the_good_code_stays(tmp_path: Path) -> None:
    slots = proved(tmp_path, "1.0")
    with pytest.raises(BadBundle, match=r"says it is 1\.1, not 9\.0"):
        slots.stage("9.0", bundle("1.1"))
    running = Slots(tmp_path).start_next()
    assert running is not None
    assert running.version == "1.0"


class PowerCut(BaseException):
    """The machine is gone between two instructions."""


def test_a_power_cut_at_any_point_leaves_a_working_slot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0
    while True:
        folder = tmp_path / str(steps)
        proved(folder, "1.0")
        if not _cut_after(steps, folder, monkeypatch):
            break
        running = Slots(folder).start_next()
        assert running is not None
        text = (running.folder / "crawler.py").read_text()
        assert running.version in ("1.0", "1.1")
        assert repr(running.version) in text, "the slot holds what the state says"
        steps += 1
    assert steps >= 8, "every write, sync and rename was cut off once"


def _cut_after(steps: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Stage and prove 1.1, with the power gone at the given step. False: it came to the end."""
    left = steps

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def step(*words: object, **named: object) -> object:
            nonlocal left
            if left == 0:
                raise PowerCut
            left -= 1
            return real(*words, **named)

        return step

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", counted(os.fsync))
        patched.setattr(shutil, "rmtree", counted(shutil.rmtree))
        patched.setattr(Path, "replace", counted(Path.replace))
        patched.setattr(Path, "write_bytes", counted(Path.write_bytes))
        try:
            slots = Slots(folder)
            slots.stage("1.1", bundle("1.1"))
            slots.start_next()
            slots.mark_healthy()
        except PowerCut:
            return True
    return False


def test_a_state_that_cannot_be_read_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "slots.json").write_text("{nonsense")
    with pytest.raises(HostFault, match="to start again"):
        Slots(tmp_path)


def test_a_long_life_of_random_events_always_has_code_to_run(tmp_path: Path) -> None:
    dice = random.Random(8)
    slots = proved(tmp_path, "1")
    good, number = "1", 1
    for _ in range(120):
        match dice.choice(["stage", "begin", "healthy", "failed", "restart"]):
            case "stage":
                number += 1
                slots.stage(str(number), bundle(str(number)))
            case "begin":
                running = slots.start_next()
                assert running is not None
                assert repr(running.version) in (running.folder / "crawler.py").read_text()
                assert running.is_trial or running.version == good
            case "healthy":
                slots.mark_healthy()
                good = slots.version
            case "failed":
                slots.mark_failed("it was so")
            case "restart":
                slots = Slots(tmp_path)
                assert slots.version == good


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (TrialObservation(age_s=1), TrialVerdict.WAIT),
        (TrialObservation(age_s=5, answered_s=4, pages_waiting=9), TrialVerdict.WAIT),
        (TrialObservation(age_s=5, answered_s=4, pages_done=1), TrialVerdict.HEALTHY),
        (TrialObservation(age_s=5, answered_s=4, pages_done=1, has_ended=True), TrialVerdict.FAILED),
        (TrialObservation(age_s=21), TrialVerdict.FAILED),
        (TrialObservation(age_s=60, answered_s=30), TrialVerdict.FAILED),
        (TrialObservation(age_s=121, answered_s=120, pages_waiting=3), TrialVerdict.FAILED),
        (TrialObservation(age_s=121, answered_s=120), TrialVerdict.HEALTHY),
    ],
)
def test_who_crashes_hangs_or_does_nothing_is_not_healthy(
    seen: TrialObservation, expected: TrialVerdict
) -> None:
    judged, why = verdict(seen)
    assert judged is expected
    assert bool(why) == (expected is TrialVerdict.FAILED)
