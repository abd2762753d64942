"""The demo: every scene plays, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_demo_plays_to_its_end_and_leaves_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200"}
    result = subprocess.run(
        [sys.executable, "-m", "ipmicra", "demo"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=110,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    for shown in ("Tulipnet", "adaptive", "200 (200 in this run", "pages match"):
        assert shown in result.stdout
    assert list(tmp_path.iterdir()) == []
