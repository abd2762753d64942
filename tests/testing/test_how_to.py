"""The how-to's examples run as typed, every public name is there, and `python -O` is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ipmicra.testing

HOW_TO = Path(__file__).parents[2] / "docs/how-to/check-your-own-parts.md"
EXAMPLES = [part.partition("```")[0] for part in HOW_TO.read_text().split("```python\n")[1:]]


@pytest.mark.parametrize("number", range(4))
def test_an_example_runs_as_typed(number: int, tmp_path: Path) -> None:
    exec(compile(EXAMPLES[number], str(HOW_TO), "exec"), {"FOLDER": tmp_path})
    assert "check_" in EXAMPLES[number]


def test_the_example_with_pytest_runs_as_typed(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(EXAMPLES[4])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"{len(ipmicra.testing.PACKAGE_STORE.promises)} passed" in result.stdout, result.stdout


def test_every_public_name_is_there_and_told() -> None:
    for name in ipmicra.testing.__all__:
        assert getattr(ipmicra.testing, name) is not None
    told = HOW_TO.read_text()
    checks = [name for name in ipmicra.testing.__all__ if name.startswith("check_") or name.isupper()]
    assert [name for name in checks if f"`{name}`" not in told] == []


def test_checks_refuse_to_run_where_assertions_are_removed() -> None:
    program = "from ipmicra.testing import check_package_store as check; check(lambda: object())"
    command = [sys.executable, "-O", "-c", program]
    plain = {name: value for name, value in os.environ.items() if name != "IPMICRA_COVERAGE"}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=plain)
    assert (result.returncode, "no check could fail" in result.stderr) == (1, True)


def test_no_test_framework_is_needed() -> None:
    program = "import ipmicra.testing, sys; sys.exit(bool({'pytest', 'hypothesis'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
