"""`ipmicra overlay` as an operator types it: two peers, a site, and one that leaves."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.errors import OperatorFault
from ipmicra.overlay.live.network_file import create_network_file, read_network_file


def overlay(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ipmicra", "overlay", *arguments]


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def status(network: Path, address: str) -> dict[str, Any]:
    """The status of the peer when it has a zone."""
    end = time.monotonic() + 90
    while time.monotonic() < end:
        asked = subprocess.run(
            overlay("status", str(network), address, "--json"), capture_output=True, check=False
        )
        if asked.returncode == 0:
            found: dict[str, Any] = json.loads(asked.stdout)
            if found["peers"][0]["card"][2]:
                return dict(found["peers"][0])
    raise AssertionError(f"{address} has no zone")


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """The process, killed at the end if it still runs."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def check_shown(network: Path, address: str) -> None:
    """The same commands without --json, for people."""

    def shown(*words: str) -> str:
        result = CliRunner().invoke(program, ["overlay", words[0], str(network), address, *words[1:]])
        assert result.exit_code == 0, result.output
        return result.output

    assert "packages with no copy yet" in shown("status")
    assert "share of space" in shown("status", "--all")
    assert "2 peers answered, 0 did not" in shown("search", "otters")


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_two_peers_share_a_site_and_one_leaves(tmp_path: Path) -> None:
    network, first, second = tmp_path / "net.json", free_address(), free_address()
    place = ("--point", "10,0,0")
    folders = [("--folder", str(tmp_path / name)) for name in ("one", "two")]
    starting = overlay("start", str(network), "--listen", first, "--point", "-10,0,0", *folders[0])
    joining = overlay("join", str(network), first, "--listen", second, *place, *folders[1])
    with running(starting):
        status(network, first)
        with running(joining) as two:
            assert status(network, second)["neighbours"]
            submitting = overlay("submit", str(network), first, "near-two.example", *place)
            assert subprocess.run(submitting, check=False).returncode == 0
            assert status(network, second)["homed"] == ["https://near-two.example"]
            check_shown(network, first)
            two.send_signal(signal.SIGTERM)
            assert two.wait(60) == 0
        asking_all = overlay("status", str(network), first, "--all", "--json")
        statuses_of = json.loads(subprocess.run(asking_all, capture_output=True, check=True).stdout)
        assert [peer["name"] for peer in statuses_of["projection"]["peers"]] == [first]
        left = statuses_of["peers"][0]
        assert left["homed"] == left["crawled"] == ["https://near-two.example"]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_peer_that_is_told_twice_to_stop_does_not_wait_for_dead_peers(tmp_path: Path) -> None:
    network, first, second = tmp_path / "net.json", free_address(), free_address()
    folders = [("--folder", str(tmp_path / name)) for name in ("one", "two")]
    starting = overlay("start", str(network), "--listen", first, "--point", "-10,0,0", *folders[0])
    joining = overlay("join", str(network), first, "--listen", second, "--point", "10,0,0", *folders[1])
    with running(starting) as one:
        status(network, first)
        with running(joining) as two:
            assert status(network, second)["neighbours"]
            one.kill()
            one.wait()
            two.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                two.wait(1)  # it looks for a successor for its zone and sites
            two.send_signal(signal.SIGTERM)
            assert two.wait(10) == 0


def test_a_network_file_is_private_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    made = create_network_file(path, (-1.0,), (1.0,), "MP/slab")
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_network_file(path) == made
    with pytest.raises(OperatorFault, match="exists already"):
        create_network_file(path, (-1.0,), (1.0,), "MP/slab")
    path.write_text('{"low": [1], "high": [0], "secret": "x"}')
    with pytest.raises(OperatorFault, match="empty"):
        read_network_file(path)
