"""Purity is a gate: each forbidden construct, put into a pure package, must fail the build.

A copy of the source tree gets one offending file; the real checkers run over the copy with the real
configuration. A gate that lets an offence pass would fail here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.gates.source_copy import REPOSITORY, import_linter_on

PURE_ROOMS = sorted(path.parent for path in (REPOSITORY / "src").rglob("ruff.toml"))

CAUGHT_BY_IMPORT_LINTER = [
    "import time",
    "import socket",
    "import asyncio",
    "import logging",
    "import secrets",
    "from pathlib import Path",
    "import sqlite3",
]
CAUGHT_BY_RUFF = [
    "import time\nnow = time.monotonic()",
    "from datetime import datetime, timezone\nnow = datetime.now(timezone.utc)",
    "import random\ndraw = random.random()",
    "from random import shuffle\nshuffle([1, 2])",
    "import numpy as np\ngenerator = np.random.default_rng()",
    "import socket\nsocket.create_connection(('192.0.2.1', 80))",
    "import asyncio\nasyncio.run(None)",
    "import logging\nlogging.info('hello')",
    "import uuid\nname = uuid.uuid4()",
]


def rooms() -> list[str]:
    return [str(room.relative_to(REPOSITORY)) for room in PURE_ROOMS]


def ruff_on(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "TID251", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_decision_room_is_guarded_by_both_checkers() -> None:
    contracts = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert len(PURE_ROOMS) >= 3
    for room in PURE_ROOMS:
        module = ".".join(room.relative_to(REPOSITORY / "src").parts)
        assert f'"{module}"' in contracts, f"{module} has a ruff.toml but no import contract"
        assert "ruff-pure.toml" in (room / "ruff.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("room", rooms())
def test_ruff_passes_an_honest_decision(copy: Path, room: str) -> None:
    honest = copy / room / "honest.py"
    honest.write_text(
        "import random\n\n\ndef draw(dice: random.Random) -> float:\n    return dice.random()\n"
    )
    try:
        assert ruff_on(honest).returncode == 0
    finally:
        honest.unlink()


@pytest.mark.parametrize("room", rooms())
def test_ruff_refuses_each_impure_call(copy: Path, room: str) -> None:
    for offence in CAUGHT_BY_RUFF:
        spoiled = copy / room / "spoiled.py"
        spoiled.write_text(offence + "\n", encoding="utf-8")
        try:
            result = ruff_on(spoiled)
            assert result.returncode == 1, f"ruff let this pass in {room}:\n{offence}"
            assert "TID251" in result.stdout
        finally:
            spoiled.unlink()


def test_import_linter_passes_the_tree_as_it_is(copy: Path) -> None:
    result = import_linter_on(copy)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("offence", CAUGHT_BY_IMPORT_LINTER)
def test_import_linter_refuses_each_impure_import(copy: Path, offence: str) -> None:
    spoiled = copy / "src/ipmicra/delegation/spoiled.py"
    spoiled.write_text(offence + "\n", encoding="utf-8")
    try:
        result = import_linter_on(copy)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "ipmicra.delegation.spoiled" in result.stdout
    finally:
        spoiled.unlink()


def test_import_linter_refuses_an_impure_import_by_way_of_another_module(copy: Path) -> None:
    middle = copy / "src/ipmicra/middle.py"
    spoiled = copy / "src/ipmicra/hierarchy/spoiled.py"
    middle.write_text("import socket\n", encoding="utf-8")
    spoiled.write_text("import ipmicra.middle\n", encoding="utf-8")
    try:
        result = import_linter_on(copy)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "ipmicra.middle" in result.stdout
    finally:
        middle.unlink()
        spoiled.unlink()


def test_import_linter_refuses_a_product_that_knows_the_lab(copy: Path) -> None:
    spoiled = copy / "src/ipmicra/crawler/spoiled.py"
    spoiled.write_text("import ipmicra.lab\n", encoding="utf-8")
    try:
        result = import_linter_on(copy)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "ipmicra.crawler.spoiled -> ipmicra.lab" in result.stdout
    finally:
        spoiled.unlink()
