"""The layers are a gate: every package has one, and an import of a higher layer fails the build."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.gates.source_copy import REPOSITORY, import_linter_on

OFFENCES = {
    "src/ipmicra/net/spoiled.py": ("import ipmicra.crawler.settings", "ipmicra.net.spoiled"),
    "src/ipmicra/model/spoiled.py": ("import ipmicra.protocol.signing", "ipmicra.model.spoiled"),
    "src/ipmicra/coordinator/spoiled.py": ("import ipmicra.host.store", "ipmicra.coordinator.spoiled"),
    "src/ipmicra/web/spoiled.py": ("import ipmicra.coordinator.store.sql.schema", "ipmicra.web.spoiled"),
    "src/ipmicra/host/spoiled.py": ("import ipmicra.settings", "ipmicra.host.spoiled"),
}


def contracts() -> dict[str, dict[str, Any]]:
    configuration = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    return {each["id"]: each for each in configuration["tool"]["importlinter"]["contracts"]}


def test_the_contract_names_every_package_and_ignores_the_door_only() -> None:
    contract = contracts()["layers"]
    named = {name.strip("() ") for layer in contract["layers"] for name in layer.split("|")}
    source = REPOSITORY / "src/ipmicra"
    packages = {path.parent.name for path in source.glob("*/__init__.py")}
    modules = {path.stem for path in source.glob("*.py")} - {"__init__"}
    assert packages | modules <= named
    assert contract["exhaustive"] is True
    for each in contracts().values():
        assert each.get("ignore_imports", []) in ([], ["ipmicra -> ipmicra.**"])


def test_an_import_of_a_higher_layer_is_refused(copy: Path) -> None:
    try:
        for path, (offence, _) in OFFENCES.items():
            (copy / path).write_text(offence + "\n", encoding="utf-8")
        result = import_linter_on(copy)
        assert result.returncode == 1, result.stdout + result.stderr
        for _, module in OFFENCES.values():
            assert f"{module} ->" in result.stdout
    finally:
        for path in OFFENCES:
            (copy / path).unlink(missing_ok=True)


@pytest.mark.parametrize("name", ["newcomer.py", "newcomer/__init__.py"])
def test_a_package_without_a_layer_is_refused(copy: Path, name: str) -> None:
    newcomer = copy / "src/ipmicra" / name
    newcomer.parent.mkdir(exist_ok=True)
    newcomer.write_text("", encoding="utf-8")
    try:
        result = import_linter_on(copy)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "ipmicra.newcomer" in result.stdout
    finally:
        newcomer.unlink()
        if newcomer.name == "__init__.py":
            newcomer.parent.rmdir()
