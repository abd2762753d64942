"""The way in: the first start prints a link on stdout, later ones do not, and a command makes another."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from tests.coordinator.coordinator_process import RunningCoordinator, free_port


def started_and_stopped(coordinator: RunningCoordinator) -> tuple[str, str]:
    """What a start says on stdout and on stderr, until it hears requests and is ended."""
    listen = f"127.0.0.1:{coordinator.port}"
    line = coordinator.command("coordinator", "run", "--listen", listen)
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        logged = []
        for heard in process.stderr:
            logged.append(heard)
            if "the coordinator answers" in heard:
                break
        process.terminate()
        said, rest = process.communicate(timeout=60)
    return said, "".join([*logged, rest])


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_only_the_first_start_prints_a_link_and_the_log_has_none(tmp_path: Path) -> None:
    coordinator = RunningCoordinator(tmp_path, "", free_port(), {})
    said, logged = started_and_stopped(coordinator)
    assert said.startswith(f"Administer at {coordinator.address}/enter#")
    token = said.partition("#")[2].split()[0]
    assert len(token) > 30
    assert token not in logged
    said, _ = started_and_stopped(coordinator)
    assert said == ""


def test_a_command_makes_another_link(tmp_path: Path) -> None:
    folder = ["--set", f"general.data_folder={tmp_path}"]
    assert CliRunner().invoke(program, [*folder, "coordinator", "init"]).exit_code == 0
    options = [*folder, "coordinator", "admin-link", "--json"]
    told = CliRunner().invoke(program, [*options, "--address", "https://crawl.example/"])
    link: str = msgspec.json.decode(told.stdout)["link"]
    assert link.startswith("https://crawl.example/enter#")
    other = CliRunner().invoke(program, options)
    assert msgspec.json.decode(other.stdout)["link"].startswith("http://127.0.0.1:8790/enter#")
