"""What is vendored is named with its version and licence, whole, and in the package that is installed."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

import pytest

from ipmicra.theme.assets import assets

VENDORED = files("ipmicra.theme") / "files" / "vendored"


def test_every_vendored_file_is_in_the_list_and_its_licence_is_there() -> None:
    listed = (VENDORED / "README.md").read_text(encoding="utf-8")
    names = {file.name for file in VENDORED.iterdir()}
    for name in sorted(names - {"README.md", "SHA256SUMS"}):
        assert name in listed, f"{name} is not in the list"
    for word in listed.replace("|", " ").split():
        if word.startswith("LICENSE-"):
            assert word in names


@pytest.mark.parametrize("folder", [Path(str(VENDORED)), Path(__file__).parent / "vendored"])
def test_every_vendored_file_is_the_one_whose_digest_was_written_down(folder: Path) -> None:
    lines = (folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
    listed = {name: digest for digest, name in (line.split() for line in lines)}
    files = {path.name: path for path in folder.iterdir() if path.suffix in {".js", ".css", ".json"}}
    licences = {path.name: path for path in folder.glob("LICENSE-*")}
    there = {**files, **licences}
    assert listed == {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items()
    }
    assert files


def test_no_asset_asks_for_anything_from_elsewhere() -> None:
    for name, asset in assets().items():
        text = asset.body.decode()
        assert "sourceMappingURL" not in text, name
        assert "@import" not in text, name
        if name.endswith(".css"):
            assert "http" not in text, name


def test_the_stylesheet_is_one_small_file() -> None:
    assert len(assets()["style.css"].body) < 20_000
