"""Folders that last: made with those above them, and the entry of each is synced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ipmicra.carrier.durable import make_folder


def test_every_folder_that_is_made_is_synced_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(
        os, "fsync", lambda handle: synced.append(Path(f"/proc/self/fd/{handle}").readlink())
    )
    make_folder(tmp_path / "a" / "b", mode=0o700)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
    assert synced == [tmp_path, tmp_path / "a"]
    make_folder(tmp_path / "a" / "b")
    assert synced[2:] == [tmp_path / "a"], "whoever made it may have died before the sync"


def test_a_file_in_the_way_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "a")
