"""Mutants -> results, on several processes at once, each with its own copy of the tree.

Invariant: a mutant is tried only after its test has passed without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue
from typing import TypeVar

import msgspec

from tests.mutants.mutant import REPOSITORY, Mutant
from tests.mutants.trial import Trial, Verdict, copy_of_tree

T = TypeVar("T")
R = TypeVar("R")


class Result(msgspec.Struct):
    mutant: Mutant
    word: str
    seconds: float
    output: str = ""

    @property
    def is_fine(self) -> bool:
        return self.word == ("SURVIVED" if self.mutant.survives else "killed") or self.word == "skipped"


class Tester:
    """A process of `tests/mutants/trial.py`, asked one trial at a time."""

    def __init__(self, copy: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.trial", str(copy)],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": f"{copy / 'src'}:{copy}", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def verdict(self, trial: Trial) -> Verdict:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(msgspec.json.encode(trial) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Verdict)

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Testers:
    """As many as there are processes; whoever asks gets one that is free."""

    def __init__(self, testers: list[Tester]) -> None:
        self._free: Queue[Tester] = Queue()
        self._pool = ThreadPoolExecutor(len(testers))
        for tester in testers:
            self._free.put(tester)

    def verdict(self, trial: Trial) -> Verdict:
        tester = self._free.get()
        try:
            return tester.verdict(trial)
        finally:
            self._free.put(tester)

    def each(self, function: Callable[[T], R], items: list[T]) -> list[R]:
        return list(self._pool.map(function, items))


@contextmanager
def opened(processes: int) -> Iterator[Testers]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as open_ones:
        copies = [Path(folder) / str(number) / "tree" for number in range(processes)]
        for copy in copies:
            copy_of_tree(REPOSITORY, copy)
        testers = [Tester(copy) for copy in copies]
        for tester in testers:
            open_ones.callback(tester.close)
        yield Testers(testers)


def results(mutants: list[Mutant], processes: int, tell: Callable[[Result], None]) -> list[Result]:
    with opened(processes) as testers:
        runs = testers.each(lambda tests: testers.verdict(Trial(tests)), shares(mutants, processes))
        check_green(runs)
        shown = {test for run in runs for test in run.passed}

        def tried(mutant: Mutant) -> Result:
            result = tried_by(testers, mutant, shown)
            tell(result)
            return result

        return testers.each(tried, mutants)


def shares(mutants: list[Mutant], processes: int) -> list[list[str]]:
    """The tests of all mutants, in equal shares. Those of one file stay together."""
    tests = sorted({mutant.test for mutant in mutants})
    step = -(-len(tests) // processes)
    return [tests[start : start + step] for start in range(0, len(tests), step)]


def check_green(runs: list[Verdict]) -> None:
    for run in runs:
        if run.code != 0:
            raise ValueError(f"tests fail without any change: {run.failed}\n{run.output}")


def tried_by(testers: Testers, mutant: Mutant, shown: set[str]) -> Result:
    if not any(test.startswith(mutant.test) for test in shown):
        return Result(mutant, "skipped", 0.0)
    source = (REPOSITORY / "src/ipmicra" / mutant.place).read_text(encoding="utf-8")
    verdict = testers.verdict(Trial([mutant.test], mutant.place, mutant.mutated(source)))
    return Result(
        mutant, verdict.word, verdict.seconds, "" if verdict.word == "killed" else verdict.output
    )
