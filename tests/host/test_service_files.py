"""The service of a lent machine: its unit is valid, and its commands find it without further words."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ipmicra import settings
from ipmicra.cli.main import run
from tests.system_parts import needed

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = DEPLOY / "ipmicra-host.service"


def test_the_unit_is_valid_for_this_systemd(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/ipmicra", "/bin/true"))
    line = [str(needed("systemd-analyze")), "verify", "--man=no", str(unit)]
    told = subprocess.run(line, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "ipmicra-host" not in told.stderr, told.stderr


def test_wrong_settings_do_not_start_it_again_and_again() -> None:
    assert "RestartPreventExitStatus=2 3" in UNIT.read_text()


def test_the_script_says_how_it_is_called() -> None:
    told = subprocess.run(
        ["sh", str(DEPLOY / "install-host")], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "https://coordinator.example TOKEN" in told.stderr
    subprocess.run(["sh", "-n", str(DEPLOY / "install-host")], check=True)


@pytest.mark.parametrize("has_own_file", [False, True])
def test_the_settings_of_the_service_are_found_after_ones_own(
    has_own_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = tmp_path / "etc.toml"
    service.write_text('[general]\ndata_folder = "/var/lib/ipmicra"\n')
    monkeypatch.setattr(settings, "SERVICE_FILE", service)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    if has_own_file:
        Path("ipmicra.toml").write_text('[general]\ndata_folder = "/own"\n')
    found, _ = settings.load_settings(environment={})
    assert found.general.data_folder == ("/own" if has_own_file else "/var/lib/ipmicra")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be told apart from others here")
def test_others_do_not_meet_the_settings_of_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = tmp_path / "etc.toml"
    service.write_text('[general]\ndata_folder = "/var/lib/ipmicra"\n')
    monkeypatch.setattr(settings, "SERVICE_FILE", service)
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert settings.load_settings(environment={})[0].general.data_folder != "/var/lib/ipmicra"


def test_a_wrong_day_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["--set", f"general.data_folder={tmp_path}", "host", "log", "--since", "yesterday"]
    assert run(line) == 2
    assert "yesterday" in capsys.readouterr().err
