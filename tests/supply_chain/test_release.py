"""A release has a bill of materials, and the same sources give the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ipmicra.protocol.bundle_format import pack
from tools.locked_requirements import REPOSITORY, all_locked
from tools.sbom import bill_of_materials

SOURCES = ("src", "tools", "deploy", "docs", "native", "requirements")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "constraints.txt")
COMPONENT_KINDS = {"application", "library", "file"}


def test_a_bill_of_materials_has_the_shape_of_cyclonedx() -> None:
    bill = bill_of_materials("1.2.3")
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", bill["metadata"]["timestamp"])
    everything = [bill["metadata"]["component"], *bill["components"]]
    everything += [inner for one in bill["components"] for inner in one.get("components", ())]
    references = [check_component(one) for one in everything]
    assert len(set(references)) == len(references)
    for dependency in bill["dependencies"]:
        assert {dependency["ref"], *dependency["dependsOn"]} <= set(references)


def check_component(one: dict[str, Any]) -> str:
    """Its reference; it has what the specification demands, and nothing it does not know."""
    known = {
        "type",
        "bom-ref",
        "name",
        "version",
        "purl",
        "licenses",
        "hashes",
        "properties",
        "components",
    }
    assert one["type"] in COMPONENT_KINDS
    assert one["name"]
    assert set(one) <= known
    for digest in one.get("hashes", ()):
        assert digest["alg"] == "SHA-256"
        assert re.fullmatch(r"[0-9a-f]{64}", digest["content"])
    for part in one.get("properties", ()):
        assert set(part) == {"name", "value"}
    return str(one["bom-ref"])


def test_it_lists_packages_crates_and_scripts() -> None:
    purls = {one["purl"]: one for one in bill_of_materials("1.2.3")["components"]}
    for package in all_locked():
        one = purls[f"pkg:pypi/{package.name}@{package.version}"]
        assert one["licenses"][0]["expression"]
        assert {part["value"] for part in one["properties"][1:]} == set(package.digests)
    assert any(purl.startswith("pkg:cargo/pyo3@") for purl in purls)
    vendored = REPOSITORY / "src" / "ipmicra" / "theme" / "files" / "vendored"
    listed = {inner["name"] for one in purls.values() for inner in one.get("components", ())}
    scripts = {path.name for path in vendored.iterdir() if path.suffix in {".js", ".css", ".json"}}
    assert listed == scripts


def test_the_bill_of_materials_is_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = json.dumps(bill_of_materials("1.2.3"))
    assert json.dumps(bill_of_materials("1.2.3")) == first
    assert json.dumps(bill_of_materials("1.2.4")) != first
    assert "2023-11-14T22:13:20Z" in first


def test_wheel_and_source_archive_are_the_same_bytes_wherever_and_whenever_they_are_built(
    tmp_path: Path,
) -> None:
    first, second = (
        built(tmp_path / "here", 1_600_000_000.0),
        built(tmp_path / "else where", 1_700_000_000.0),
    )
    assert first == second
    assert {Path(name).suffix for name in first} == {".whl", ".gz"}


def built(place: Path, changed_s: float) -> dict[str, str]:
    """Digests of what is built from a copy of the sources, whose files have this time and other rights."""
    source = place / "source"
    for name in SOURCES:
        shutil.copytree(
            REPOSITORY / name,
            source / name,
            ignore=shutil.ignore_patterns("__pycache__", "target", "*.pyc"),
        )
    for name in FILES:
        shutil.copy(REPOSITORY / name, source / name)
    for path in source.rglob("*"):
        os.utime(path, (changed_s, changed_s))
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "1700000000",
        "PYTHONHASHSEED": str(int(changed_s) % 97),
    }
    line = [sys.executable, "-m", "hatchling", "build", "-d", str(place / "dist")]
    subprocess.run(line, cwd=source, check=True, capture_output=True, env=environment)
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (place / "dist").iterdir()
    }


def test_a_bundle_of_code_is_the_same_bytes_each_time() -> None:
    files = {"a.py": b"one", "b/c.py": b"two"}
    assert pack("1.0", "a", files) == pack("1.0", "a", dict(reversed(files.items())))
