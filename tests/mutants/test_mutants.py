"""The rows fit the source, the tool tells killed from survived, and the quick rows are killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.mutant import REPOSITORY, Mutant, all_mutants, rows_of, touched_since
from tests.mutants.trial import Verdict
from tests.mutants.trials import check_green

ROW = """
[first]
promise = "a"
place = "addresses.py"
before = "SPACE_BITS = "
after = ""
test = "tests/test_addresses.py"
"""


def test_every_row_changes_one_place_and_names_a_test() -> None:
    problems = [problem for mutant in all_mutants() for problem in mutant.problems()]
    assert not problems


def a_mutant(**fields: str) -> Mutant:
    known = {"name": "one", "promise": "p", "place": "errors.py", "before": "a", "after": "b"}
    return Mutant(**{**known, "test": "tests/test_addresses.py", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"before": "nowhere to be found"}, "found 0 times"),
        ({"before": "e"}, "times in errors.py, not once"),
        ({"place": "no_such.py"}, "is not a file"),
        ({"before": "from __future__ import annotations\n", "after": "def\n"}, "invalid syntax"),
        ({"test": "tests/none.py"}, "not a file"),
        ({"before": "from __future__ import annotations\n", "after": "\n",
          "test": "tests/test_addresses.py::test_none"}, "has no test"),
    ],
)  # fmt: skip
def test_a_stale_row_is_a_problem(fields: dict[str, str], problem: str) -> None:
    assert problem in a_mutant(**fields).problems()[0]


def test_two_rows_with_one_name_are_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(ROW)
    with pytest.raises(ValueError, match="first"):
        all_mutants(tmp_path)


def test_rows_that_a_revision_does_not_have_are_chosen() -> None:
    new = rows_of(ROW)
    assert touched_since(new, "HEAD") == new


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        (Verdict(code=1, failed=["a"], faults=["AssertionError"]), "killed"),
        (Verdict(code=1, failed=["a"], faults=["NameError"]), "BROKEN"),
        (Verdict(code=2), "BROKEN"),
        (Verdict(code=-1), "TIMED OUT"),
        (Verdict(code=0, passed=["a"]), "SURVIVED"),
        (Verdict(code=0, skipped=["a"]), "skipped"),
    ],
)
def test_only_a_failed_test_kills(verdict: Verdict, word: str) -> None:
    assert verdict.word == word


def test_a_test_that_fails_before_any_change_stops_the_tool() -> None:
    with pytest.raises(ValueError, match="without any change"):
        check_green([Verdict(code=1, failed=["a"])])


def run_tool(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPOSITORY / "tools" / "mutants.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_quick_mutants_are_killed() -> None:
    done = run_tool("--quick", "--processes", "1", "--json")
    assert done.returncode == 0, done.stderr[-5000:]
    assert json.loads(done.stdout)["counts"]["killed"] > 0
