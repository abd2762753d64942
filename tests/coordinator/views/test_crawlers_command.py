"""`ipmicra coordinator crawlers` as a person reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.cli.main import run
from tests.web.dashboard_harness import DashboardHarness


def test_crawlers_are_listed_with_their_state_and_what_may_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    with DashboardHarness(tmp_path) as scene:
        scene.join("lima")
    database = f"sqlite:///{tmp_path / 'rows.sqlite'}"
    words = [
        "--set",
        f"general.data_folder={tmp_path}",
        "coordinator",
        "crawlers",
        "--database",
        database,
    ]
    assert run(words) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "lima" in line]
    for expected in ("installed", "pause", "retire", "revoke"):
        assert expected in row
