"""The table of mutants fits the source, and its quick ones are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.table import MUTANTS, Mutant

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.promise)
def test_a_mutant_changes_one_place_and_names_a_test(mutant: Mutant) -> None:
    source = (REPOSITORY / "src" / "ipmicra" / mutant.place).read_text(encoding="utf-8")
    assert source.count(mutant.before) == 1
    file, _, name = mutant.test.partition("::")
    assert f"def {name}" in (REPOSITORY / file).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_quick_mutants_are_killed() -> None:
    command = [sys.executable, str(REPOSITORY / "tools" / "mutants.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
