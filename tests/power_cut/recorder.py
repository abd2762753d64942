"""A command -> a real process under strace -> what it asked of the files below a folder.

The test notes marks: moments at which somebody was promised something. Invariant: replayed as a whole, a
recording gives the files that the process left (`check_complete`); so none of its writes was missed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tests.power_cut.disk_model import DiskModel, Tree
from tests.power_cut.file_operations import Recorded
from tests.power_cut.trace_parser import CALLS, FORGOTTEN, TraceParser
from tests.system_parts import needed

_STRING_BYTES_MAX = 64 << 20
_SECONDS_TO_END = 30.0


class Mark(NamedTuple):
    at_s: float
    what: str


@dataclass
class Recording:
    """All that happened to the files in `root`, which were `before` when it began."""

    root: Path
    before: Tree
    operations: list[Recorded]
    marks: list[Mark] = field(default_factory=list)

    def final(self) -> Tree:
        """The files as they were at the end, without any cut."""
        model = DiskModel(PurePosixPath(self.root), self.before)
        for recorded in self.operations:
            model.apply(recorded.operation)
        return model.as_running()

    def check_complete(self) -> None:
        there, replayed = tree_in(self.root), self.final()
        differing = sorted(
            str(path)
            for path in there.keys() | replayed.keys()
            if there.get(path, b"missing") != replayed.get(path, b"missing")
        )
        assert not differing, f"the recording does not explain these files: {differing}"


class Recorder:
    """Processes under strace, one after the other or at once, on one folder."""

    def __init__(self, root: Path, traces: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        traces.mkdir(parents=True, exist_ok=True)
        self._root, self._traces = root.resolve(), traces
        self._before = tree_in(self._root)
        self._paths: list[Path] = []
        self.marks: list[Mark] = []

    def traced(self, command: Sequence[str]) -> list[str]:
        """The command as it is to be started; signals to it arrive, since strace stands aside."""
        path = self._traces / f"trace-{len(self._paths)}"
        self._paths.append(path)
        options = ["-D", "-f", "-ttt", "-y", "-xx", "-s", str(_STRING_BYTES_MAX), "--seccomp-bpf"]
        calls = ["-e", "signal=none", "-e", f"trace={','.join(CALLS)}", "-o", str(path)]
        return [str(needed("strace")), *options, *calls, *command]

    def run(self, command: Sequence[str], seconds: float = 120.0) -> None:
        subprocess.run(self.traced(command), check=True, timeout=seconds, capture_output=True)

    def run_in_steps(self, program: str, *arguments: str) -> None:
        """A program in Python that prints a line after each step, and goes on when it is told to."""
        line = self.traced([sys.executable, "-c", program, *arguments])
        with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for step in process.stdout:
                self.mark(step.strip())
                process.stdin.write("\n")
                process.stdin.flush()
        assert process.returncode == 0

    def mark(self, what: str) -> None:
        """Somebody has been promised something by now."""
        self.marks.append(Mark(time.time(), what))

    def recording(self) -> Recording:
        """Of all processes together; they have ended."""
        operations: list[Recorded] = []
        for path in self._paths:
            _await_end(path)
            with path.open(encoding="ascii") as lines:
                found = TraceParser(PurePosixPath(self._root)).operations(lines)
                operations += found
        if len(self._paths) > 1:  # one after the other; within one, the order is that of the answers
            operations.sort(key=lambda recorded: recorded.begun_s)
        return Recording(self._root, self._before, operations, self.marks)


def _await_end(trace: Path) -> None:
    """strace writes on for a moment after its process has ended."""
    end = time.monotonic() + _SECONDS_TO_END
    while not _last_line(trace).rstrip().endswith("+++"):
        assert time.monotonic() < end, f"{trace} has no end"
        time.sleep(0.02)


def _last_line(trace: Path) -> str:
    with trace.open("rb") as file:
        file.seek(max(0, trace.stat().st_size - 200))
        return file.read().decode("ascii", "replace")


def tree_in(folder: Path) -> Tree:
    """Every file and folder below, as far as recovery reads it."""
    return {
        PurePosixPath(path): None if path.is_dir() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if not path.is_symlink() and not path.name.endswith(FORGOTTEN)
    }
