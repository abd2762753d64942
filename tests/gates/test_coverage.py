"""Coverage is a gate: marks tell which branches ran, in killed processes too; a missed floor fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from tools.coverage import preparation
from tools.coverage.__main__ import STARTUP
from tools.coverage.marked_source import BRANCH, FUNCTION, HANDLER, Place, mark
from tools.coverage.report import (
    EXCEPTIONS,
    Count,
    Floors,
    read_counts,
    read_exceptions,
    read_floors,
    shortcomings,
    table,
)

FLOORS = Floors(
    branch_percent_min=90.0,
    packages_left_out=["lab", "cli.commands.lab"],
    module_lines=40,
    module_percent_min=60.0,
    module_percent_passed=70.0,
)


def taken(program: str, call: str) -> list[Place]:
    """Which branches run, when the call follows the program."""
    tree, places = mark(textwrap.dedent(program), 0)
    marks = bytearray(len(places))
    scope: dict[str, object] = {"__taken__": marks}
    exec(compile(tree, "program", "exec"), scope)  # what is tested is compiled code
    exec(call, scope)
    return [place for place, has_run in zip(places, marks, strict=True) if has_run]


def check(program: str, call: str, *lines: tuple[int, int]) -> None:
    assert [(each.line, each.to_line) for each in taken(program, call) if each.kind == BRANCH] == list(
        lines
    )


def test_an_if_has_two_branches_with_and_without_else() -> None:
    program = "def f(a):\n  if a:\n    b = 1\n  else:\n    b = 2\n  if a:\n    b = 3\n"
    check(program, "f(True)", (2, 3), (6, 7))
    check(program, "f(False)", (2, 5), (6, 0))


def test_a_loop_is_entered_and_comes_to_its_end() -> None:
    program = "def f(a):\n  for b in a:\n    if b: break\n"
    check(program, "f([])", (2, 0))
    check(program, "f([1])", (3, 3), (2, 3))
    check("def f(a):\n  while a:\n    a = 0\n", "f(1)", (2, 3), (2, 0))
    check("def f():\n  while True:\n    return\n", "f()")


def test_every_case_of_a_match_is_a_branch_and_so_is_none_of_them() -> None:
    program = "def f(a):\n  match a:\n    case 1: b = 1\n    case 2: b = 2\n"
    check(program, "f(2)", (2, 4))
    check(program, "f(3)", (2, 0))


def test_what_the_type_checker_excludes_is_not_counted() -> None:
    program = """
        def f(a):
            match a:
                case 1: b = 1
                case _: assert_never(a)
        if TYPE_CHECKING:
            import b
        if __name__ == "__main__":
            f(1)
        def declared(): ...
    """
    _, places = mark(textwrap.dedent(program), 0)
    assert [(place.kind, place.line) for place in places] == [(BRANCH, 3), (FUNCTION, 2)]


def test_functions_and_except_clauses_are_counted_apart() -> None:
    program = "def f(a):\n  try:\n    1 / a\n  except ZeroDivisionError:\n    pass\ndef g(): return 1\n"
    assert [each.kind for each in taken(program, "f(1)")] == [FUNCTION]
    assert {each.kind for each in taken(program, "f(0)")} == {FUNCTION, HANDLER}


def test_marks_leave_docstrings_and_lines_of_tracebacks_as_they_are() -> None:
    tree, places = mark('def f(a):\n  "text"\n  if a:\n\n    raise ValueError\n', 0)
    scope: dict[str, object] = {"__taken__": bytearray(len(places))}
    exec(compile(tree, "program", "exec"), scope)
    function = scope["f"]
    assert callable(function)
    assert function.__doc__ == "text"
    with pytest.raises(ValueError) as caught:
        function(1)
    assert caught.traceback[-1].lineno == 5 - 1  # pytest counts from 0


def test_a_process_that_is_killed_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "src/ipmicra"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("")
    (source / "victim.py").write_text(
        "import os, signal\ndef f():\n  os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.setattr(preparation, "SOURCE", tmp_path / "src")
    preparation.prepare(tmp_path / "counted")
    environment = {
        **os.environ,
        "IPMICRA_COVERAGE": str(tmp_path / "counted"),
        "PYTHONPATH": f"{STARTUP}:{tmp_path / 'src'}",
    }
    command = [sys.executable, "-c", "import ipmicra.victim; ipmicra.victim.f()"]
    assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    assert read_counts(tmp_path / "counted")["ipmicra.victim"].taken == {FUNCTION: 1}


def test_a_module_that_has_changed_is_loaded_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "src/ipmicra"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text("said = 'before'\n")
    monkeypatch.setattr(preparation, "SOURCE", tmp_path / "src")
    preparation.prepare(tmp_path / "counted")
    (source / "__init__.py").write_text("said = 'after it'\n")
    os.utime(source / "__init__.py", ns=(0, 1))
    environment = {
        **os.environ,
        "IPMICRA_COVERAGE": str(tmp_path / "counted"),
        "PYTHONPATH": f"{STARTUP}:{tmp_path / 'src'}",
    }
    command = [sys.executable, "-c", "import ipmicra; print(ipmicra.said)"]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    assert said == "after it\n"


def a_count(whole: int, run: int) -> Count:
    return Count(Counter({BRANCH: whole}), Counter({BRANCH: run}))


@pytest.mark.parametrize(
    ("run", "excepted", "found"),
    [
        (95, set(), []),
        (89, set(), ["89.00% of the branches were taken; the floor is 90.0%"]),
    ],
)
def test_branches_below_the_floor_fail_the_run(run: int, excepted: set[str], found: list[str]) -> None:
    left_out = dict.fromkeys(("ipmicra.lab.b", "ipmicra.cli.commands.lab"), a_count(1000, 0))
    counts = {"ipmicra.net.a": a_count(100, run), **left_out}
    assert shortcomings(counts, dict.fromkeys(counts, 41), excepted, FLOORS) == found


@pytest.mark.parametrize(
    ("lines", "run", "excepted", "says"),
    [
        (41, 59, [], "less than 60.0%"),
        (40, 59, [], None),
        (41, 59, ["ipmicra.net.a"], None),
        (41, 65, ["ipmicra.net.a"], None),
        (41, 70, ["ipmicra.net.a"], "take it off"),
        (40, 59, ["ipmicra.net.a"], "take it off"),
        (41, 95, ["ipmicra.net.gone"], "is gone"),
    ],
)
def test_a_module_that_is_barely_run_fails_and_so_does_a_stale_exception(
    lines: int, run: int, excepted: list[str], says: str | None
) -> None:
    counts = {"ipmicra.net.a": a_count(100, run), "ipmicra.net.b": a_count(10_000, 10_000)}
    found = shortcomings(counts, dict.fromkeys(counts, lines), set(excepted), FLOORS)
    assert [says in each for each in found] == [True] if says else found == []


def test_every_exception_has_a_reason() -> None:
    assert read_exceptions("# head\nipmicra.a  # slow\n\nipmicra.b\n") == {"ipmicra.a", "ipmicra.b"}
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "# " not in line] == []


def test_the_table_has_a_row_for_each_package_and_the_floors_are_read_from_pyproject() -> None:
    counts = {"ipmicra.net.a": a_count(4, 1), "ipmicra.lab.b": a_count(2, 2)}
    rows = [line.split() for line in table(counts, read_floors())]
    assert ["net", "4", "25.0%", "100.0%", "100.0%"] in rows
    assert rows[-1][:5] == ["without", "the", "lab", "4", "25.0%"]
