"""`ipmicra coordinator run` as a process of the test's own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from click.testing import CliRunner

from ipmicra.cli.main import program
from tests.coordinator.played_host import PlayedHost

SECONDS_TO_START = 120.0


class RunningCoordinator:
    """Where it is, and its commands."""

    def __init__(self, folder: Path, database: str, port: int, settings: dict[str, str]) -> None:
        self.port = port
        self.address = f"http://127.0.0.1:{port}"
        self.database = database
        self._options = [f"general.data_folder={folder}"]
        self._options += [f"{name}={value}" for name, value in settings.items()]
        self.process: subprocess.Popen[bytes] | None = None
        self.environment: dict[str, str] = {}
        self.log = folder / f"log-{port}"

    def command(self, *words: str) -> list[str]:
        options = [part for option in self._options for part in ("--set", option)]
        return [sys.executable, "-m", "ipmicra", *options, *words]

    def rows(self, *words: str) -> str:
        """Run a command of the coordinator's that works on its rows."""
        options = [part for option in self._options for part in ("--set", option)]
        line = [*options, "coordinator", *words, "--database", self.database]
        result = CliRunner().invoke(program, line, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    def start(self) -> None:
        line = self.command(
            "coordinator", "run", "--listen", f"127.0.0.1:{self.port}", "--database", self.database
        )
        with self.log.open("ab") as log:
            environment = {**os.environ, **self.environment}
            self.process = subprocess.Popen(line, stdout=log, stderr=log, env=environment)
        self._wait_until_it_answers()

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(60)

    def registered(self, name: str, address: str = "127.0.0.1") -> PlayedHost:
        """A host that is enrolled and has said that it is awake."""
        token = msgspec.json.decode(self.rows("register", name, "--json"))["token"]
        return self.host(name, token, address)

    def host(self, name: str, token: str, address: str = "127.0.0.1") -> PlayedHost:
        """The same, for a host that is registered already."""
        host = PlayedHost(self.port, name, address)
        assert host.enrol(token).status == 200
        host.report(awake=True)
        return host

    def _wait_until_it_answers(self) -> None:
        assert self.process is not None
        end = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.address}/ready", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)
        ended = self.process.poll()
        raise AssertionError(
            f"the coordinator did not start (exit code {ended}):\n{self.log.read_text()}"
        )


@contextmanager
def running_coordinator(
    folder: Path, database: str, settings: dict[str, str] | None = None
) -> Iterator[RunningCoordinator]:
    coordinator = RunningCoordinator(folder, database, free_port(), settings or {})
    coordinator.start()
    try:
        yield coordinator
    finally:
        if coordinator.process is not None and coordinator.process.poll() is None:
            coordinator.process.kill()
            coordinator.process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
