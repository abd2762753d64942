"""A real process that stages code and proves it healthy, recorded; and what runs after a cut."""

from __future__ import annotations

from pathlib import Path

from ipmicra.host.code.slots import Running, Slots
from tests.power_cut.crash_states import CrashState
from tests.power_cut.recorder import Recorder, Recording

_STAGES = """
import sys
from pathlib import Path
from ipmicra.host.code.slots import Slots
from ipmicra.protocol.bundle_format import pack

slots = Slots(Path(sys.argv[1]) / "code")
for version in ("1.1", "1.2", "1.3"):
    slots.stage(version, pack(version, "crawler", {"crawler.py": version.encode() * 3000}))
    slots.start_next()
    slots.mark_healthy()
    print(version, flush=True)
    sys.stdin.readline()
"""


def record(folder: Path) -> Recording:
    recorder = Recorder(folder / "data", folder / "traces")
    recorder.run_in_steps(_STAGES, str(folder / "data"))
    recording = recorder.recording()
    recording.check_complete()
    return recording


def check(state: CrashState, data: Path) -> None:
    """Code that has proved itself runs; whatever runs, and a trial too, is whole."""
    slots = Slots(data / "code")
    proved = max((mark.what for mark in state.marks), default="")
    assert slots.version >= proved
    for running in (slots.good_code(), slots.start_next()):
        if running is not None:
            assert _is_whole(running)


def _is_whole(running: Running) -> bool:
    return (running.folder / "crawler.py").read_bytes() == running.version.encode() * 3000
