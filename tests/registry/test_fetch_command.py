"""`ipmicra registry fetch`: the files, what became of each, and an exit code that tells of a failure."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from ipmicra.cli.commands.registry import fetch as fetch_command
from ipmicra.cli.main import run
from ipmicra.registry.download.downloads import DownloadOutcome, DownloadProgress, RetryPolicy
from ipmicra.registry.download.sources import RemoteFile

State = Literal["fetched", "failed"]
Captured = pytest.CaptureFixture[str]


def test_files_are_listed_without_being_fetched(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert run(["registry", "fetch", "--registry", "ripencc", "--list"]) == 0
    assert "https://" in capsys.readouterr().out


@pytest.mark.parametrize(("state", "code"), [("fetched", 0), ("failed", 4)])
def test_what_became_of_each_file_is_shown(
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    state: Literal["fetched", "failed"],
    code: int,
) -> None:
    def fetched(
        file: RemoteFile, folder: Path, patience: RetryPolicy, advance: DownloadProgress
    ) -> DownloadOutcome:
        advance(5, 10)
        return DownloadOutcome(file.registry, file.name, state, 10, "agrees", "the detail")

    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(fetch_command, "fetch", fetched)
    monkeypatch.setattr(fetch_command, "check_names", lambda _: None)
    assert run(["registry", "fetch", "--registry", "ripencc", "--into", str(tmp_path)]) == code
    told = capsys.readouterr()
    assert state in told.out
    assert "the detail" in told.out
    assert "fetching https://" in told.err
    assert ("could not be fetched" in told.err) is (code == 4)
