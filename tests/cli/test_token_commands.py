"""`ipmicra coordinator token` as a person uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ipmicra.cli.main import run


def test_a_token_is_shown_once_listed_without_itself_and_revoked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    coordinator = ["--set", f"general.data_folder={tmp_path}", "coordinator"]
    assert run([*coordinator, "init"]) == 0
    capsys.readouterr()
    assert run([*coordinator, "token", "create", "importer"]) == 0
    created = capsys.readouterr().out
    assert run([*coordinator, "token", "list"]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "importer" in line]
    assert "valid" in row
    assert "never" in row, "not used yet"
    secrets = [word for word in created.split() if len(word) > 30]
    assert secrets
    assert all(secret not in row for secret in secrets)
    assert run([*coordinator, "token", "revoke", "importer"]) == 0
    capsys.readouterr()
    assert run([*coordinator, "token", "list"]) == 0
    assert "revoked" in capsys.readouterr().out
