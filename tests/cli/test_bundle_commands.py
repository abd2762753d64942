"""`ipmicra bundle`: from keys to what a host can fetch from a running coordinator and run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from ipmicra.cli.main import program
from ipmicra.protocol.bundle_format import read
from ipmicra.protocol.bundle_trust import Bundles
from tests.coordinator.coordinator_process import running_coordinator


class Operator:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._places = ["--keys", str(folder / "keys"), "--repository", str(folder / "bundles")]

    def bundle(self, name: str, *words: str, fails: bool = False) -> Result:
        places = {"build": [], "publish": self._places[2:]}.get(name, self._places)
        line = ["--set", f"general.data_folder={self.folder / 'home'}", "bundle", name, *words, *places]
        result = CliRunner().invoke(program, line)
        assert (result.exit_code != 0) is fails, result.output
        return result

    def release(self, version: str) -> None:
        path = str(self.folder / f"{version}.zip")
        self.bundle("build", path, "--version", version)
        self.bundle("sign", path)


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    home = ["--set", f"general.data_folder={tmp_path / 'home'}"]
    assert CliRunner().invoke(program, [*home, "coordinator", "init"]).exit_code == 0
    return Operator(tmp_path)


def test_a_host_fetches_from_a_running_coordinator_what_the_operator_signed(
    operator: Operator, tmp_path: Path
) -> None:
    told = msgspec.json.decode(operator.bundle("init", "--json").stdout)
    operator.release("1.0")
    operator.bundle("publish", "--roll-out", "1.0")
    home = tmp_path / "home"
    root = (home / "bundles" / "metadata" / "1.root.json").read_bytes()
    assert len(told["fingerprint"].split()) == 8
    with running_coordinator(home, f"sqlite:///{home / 'coordinator.sqlite'}") as coordinator:
        data = Bundles(coordinator.address, tmp_path / "host", root).fetch("1.0")
    manifest, files = read(data)
    assert manifest.version == "1.0"
    assert "ipmicra/crawler/engine.py" in files
    assert not any(
        path.startswith(("ipmicra/lab/", "ipmicra/cli/", "ipmicra/search/")) for path in files
    )
    assert len(data) < 1_000_000, "small enough for anybody's line"


def test_building_twice_makes_the_same_bytes(operator: Operator, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        operator.bundle("build", str(tmp_path / name), "--version", "1.0")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_what_cannot_be_is_said_in_one_line(operator: Operator, tmp_path: Path) -> None:
    def complaint(*words: str) -> str:
        return str(operator.bundle(*words, fails=True).exception)

    assert "not a repository" in complaint("publish")
    operator.bundle("init")
    assert "already" in complaint("init")
    assert "not signed" in complaint("publish", "--roll-out", "9.9")
    assert "not a version" in complaint("build", str(tmp_path / "x.zip"), "--version", "one")
    (tmp_path / "junk.zip").write_bytes(b"junk")
    assert "damaged" in complaint("sign", str(tmp_path / "junk.zip"))


def test_versions_are_withdrawn_keys_replaced_and_signatures_renewed_one_at_a_time(
    operator: Operator, tmp_path: Path
) -> None:
    operator.bundle("init")
    for version in ("1.0", "1.1"):
        operator.release(version)
    keys = sorted(path.name for path in (tmp_path / "keys").rglob("*"))
    assert "signed: 1.1; believed until" in operator.bundle("sign", "--withdraw", "1.0").output
    operator.bundle("sign", "--rotate", "targets")
    assert sorted(path.name for path in (tmp_path / "keys").rglob("*")) != keys
    before = msgspec.json.decode(operator.bundle("sign", "--json").stdout)
    assert before["versions"] == ["1.1"]
    refused = operator.bundle("sign", "--withdraw", "1.1", "--rotate", "targets", fails=True)
    assert "give one of FILE, --withdraw and --rotate" in str(refused.exception)
    assert msgspec.json.decode(operator.bundle("sign", "--json").stdout)["versions"] == ["1.1"]
