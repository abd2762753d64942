"""Every promise of the threat model names a test, and every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.mutants.mutant import all_mutants

REPOSITORY = Path(__file__).parents[2]
DOCUMENT = REPOSITORY / "docs" / "explanation" / "threat-model.md"


def test_the_tests_that_the_threat_model_names_exist() -> None:
    named = set(re.findall(r"`(test_\w+)`", DOCUMENT.read_text()))
    sources = "\n".join(path.read_text() for path in (REPOSITORY / "tests").rglob("test_*.py"))
    missing = {name for name in named if f"def {name}(" not in sources}
    assert named
    assert not missing


def test_every_attack_of_the_adversary_is_in_the_threat_model() -> None:
    tests = (REPOSITORY / "tests" / "host" / "sandbox" / "test_adversary.py").read_text()
    attacks = re.findall(r'^    \("(\w+)", ', tests, re.MULTILINE)
    told = DOCUMENT.read_text()
    known = {"look_at_processes"}  # files that are not there, as the others
    assert {attack for attack in attacks if f"`{attack}`" not in told} <= known
    assert len(attacks) > 30


def promise_rows() -> list[str]:
    promises = (
        DOCUMENT.read_text().partition("## Promises")[2].partition("## What this does not stop")[0]
    )
    return [line for line in promises.splitlines() if line.startswith("| ") and "promise |" not in line]


def test_every_promise_names_what_shows_it() -> None:
    rows = promise_rows()
    unshown = [row for row in rows if not re.search(r"`(test_\w+|tests/[\w/]+\.py)` ?(\||,)", row)]
    assert len(rows) > 45
    assert not unshown


WITHOUT_A_MUTANT = (
    30  # promises that no row breaks yet, or that are not about our source; only becomes smaller
)


def test_every_promise_names_its_mutants() -> None:
    known = {mutant.name for mutant in all_mutants()}
    unknown, without = set(), []
    for row in promise_rows():
        named = re.findall(r"`([a-z0-9-]+)`", row.rstrip(" |").rpartition("|")[2])
        unknown |= set(named) - known
        without += [] if named else [row]
    assert not unknown
    assert len(without) <= WITHOUT_A_MUTANT, without
