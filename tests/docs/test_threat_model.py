"""Every promise of the threat model names a test, and every test that it names is there."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_every_promise_names_what_shows_it() -> None:
    promises = (
        DOCUMENT.read_text().partition("## Promises")[2].partition("## What this does not stop")[0]
    )
    rows = [line for line in promises.splitlines() if line.startswith("| ") and "promise |" not in line]
    unshown = [row for row in rows if not re.search(r"`(test_\w+|tests/[\w/]+\.py)` ?(\||,)", row)]
    assert len(rows) > 45
    assert not unshown
