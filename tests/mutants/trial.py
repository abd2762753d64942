"""Trials -> verdicts: a process imports pytest and all libraries once, and is forked for each trial.

It works in a copy of the tree of its own, reads one trial per line as JSON, and writes one verdict per line.
Invariant: nothing of ipmicra is imported before the fork, so that every module is read with the change in it.
Invariant: after a trial the copy is as it was.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import time
import traceback
from importlib.metadata import entry_points
from pathlib import Path

import msgspec
import pytest

LIBRARIES = (
    "aiodns", "brotli", "cryptography.x509", "h2.connection", "htpy", "httptools", "httpx", "hypothesis",
    "isal", "litestar", "numpy", "prometheus_client", "psycopg", "scipy.optimize", "sqlalchemy", "tantivy",
    "tuf.ngclient", "turbohtml", "uvicorn", "uvloop", "zstandard",
)  # fmt: skip
LEFT_OUT = (".git", ".venv", ".parts", "target", "site", "results", "dist", ".*_cache", ".hypothesis")
NOT_A_FINDING = {"SyntaxError", "NameError", "ImportError", "ModuleNotFoundError", "UnboundLocalError"}
PYTEST_OPTIONS = (
    "-q", "--tb=short", "-p", "no:cacheprovider",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",  # plugins are imported before the fork
)  # fmt: skip
TRIAL_S_MAX = 170.0


class Trial(msgspec.Struct):
    """Tests to run, with one file changed or none."""

    tests: list[str]
    place: str = ""
    source: str = ""


class Verdict(msgspec.Struct):
    """What became of the tests: the exit code of pytest, and each test by its outcome."""

    code: int
    passed: list[str] = []
    failed: list[str] = []
    skipped: list[str] = []
    faults: list[str] = []  # names of the exceptions by which tests failed
    seconds: float = 0.0
    output: str = ""

    @property
    def word(self) -> str:
        if self.code == pytest.ExitCode.TESTS_FAILED and not NOT_A_FINDING & set(self.faults):
            return "killed"
        if self.code == pytest.ExitCode.OK:
            return "SURVIVED" if self.passed else "skipped"
        return "TIMED OUT" if self.code < 0 else "BROKEN"


class Recorder:
    """A plugin of pytest that notes outcomes and the exceptions behind them."""

    def __init__(self) -> None:
        self.verdict = Verdict(code=0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            getattr(self.verdict, report.outcome).append(report.nodeid)

    def pytest_exception_interact(self, call: pytest.CallInfo[object]) -> None:
        if call.excinfo:
            self.verdict.faults.append(call.excinfo.type.__name__)


def copy_of_tree(repository: Path, copy: Path) -> None:
    """With compiled files, which stay valid because times are copied too."""
    shutil.copytree(repository, copy, ignore=shutil.ignore_patterns(*LEFT_OUT), symlinks=True)
    for name in (".venv", ".parts"):
        if (repository / name).exists():
            (copy / name).symlink_to((repository / name).resolve())


def import_libraries() -> None:
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in LIBRARIES:
        importlib.import_module(name)


def tried(trial: Trial, copy: Path, count: int) -> Verdict:
    """Make the change, run the tests in a fork, undo the change. File times tell the versions apart."""
    if not trial.place:
        return forked_run(trial.tests, copy)
    path = copy / "src" / "ipmicra" / trial.place
    source, at_s = path.read_bytes(), path.stat().st_mtime
    path.write_text(trial.source, encoding="utf-8")
    os.utime(path, (at_s + count, at_s + count))
    try:
        return forked_run(trial.tests, copy)
    finally:
        path.write_bytes(source)
        os.utime(path, (at_s, at_s))


def forked_run(tests: list[str], copy: Path) -> Verdict:
    begun, result = time.monotonic(), copy / ".verdict"
    result.unlink(missing_ok=True)
    process = os.fork()
    if process == 0:
        run_pytest(tests, result)
    code = wait(process, begun + TRIAL_S_MAX * max(1, len(tests)))
    end_group(process)
    verdict = msgspec.json.decode(result.read_bytes(), type=Verdict) if code == 0 else Verdict(code=-1)
    verdict.seconds = round(time.monotonic() - begun, 2)
    verdict.output = (copy / ".output").read_text(errors="replace")[-6000:]
    return verdict


def run_pytest(tests: list[str], result: Path) -> None:
    """In the fork: output goes to a file, the verdict to another, and the process ends without clean-up."""
    os.setsid()
    output = os.open(result.with_name(".output"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    recorder, stop = Recorder(), [] if len(tests) > 1 else ["-x"]
    try:
        recorder.verdict.code = int(pytest.main([*PYTEST_OPTIONS, *stop, *tests], plugins=[recorder]))
        result.write_bytes(msgspec.json.encode(recorder.verdict))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    finally:
        sys.stdout.flush()
        os._exit(0)


def wait(process: int, until: float) -> int:
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return -1


def end_group(process: int) -> None:
    """What a broken test left running."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def main(copy: Path) -> None:
    import_libraries()
    for count, line in enumerate(sys.stdin.buffer, start=1):
        verdict = tried(msgspec.json.decode(line, type=Trial), copy, count)
        sys.stdout.buffer.write(msgspec.json.encode(verdict) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
