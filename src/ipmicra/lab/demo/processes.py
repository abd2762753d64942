"""A town -> its processes: the generated web, a coordinator and hosts, started by the documented commands.

Invariant: no process outlives the stage, not even when the program that holds it is killed; each leaves
its log in the town's folder.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self
from urllib.error import HTTPError
from urllib.request import urlopen

from ipmicra.errors import OurFault
from ipmicra.lab.demo.config import DemoConfig

START_SECONDS_MAX = 40.0
STOP_SECONDS_MAX = 10.0
LOOK_SECONDS = 0.1

_PR_SET_PDEATHSIG = 1
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


class DemoProcesses:
    """The town's processes while the context is open."""

    def __init__(self, town: DemoConfig) -> None:
        self._town = town
        self._running = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def start_web(self) -> None:
        """The sites and their names."""
        town = self._town
        words = ["lab", "web", "--sites", town.sites_count, "--pages", town.pages_count]
        words += ["--seed", town.seed, "--port", town.web_port, "--names-port", town.names_port]
        process = self._start("web", [], list(map(str, words)))
        first = next(iter(town.sites))
        self._wait("web", process, lambda: _answers(f"http://{first}:{town.web_port}/robots.txt"))

    def start_coordinator(self) -> None:
        words = ["coordinator", "run", "--listen", f"127.0.0.1:{self._town.coordinator_port}"]
        process = self._start("coordinator", self.options("home"), words)
        self._wait("coordinator", process, lambda: _answers(f"{self._town.coordinator}/ready"))

    def start_host(self, city: str) -> None:
        self._start(city.lower(), self.options(city), ["host", "run"])

    def options(self, whose: str) -> list[str]:
        settings = self._town.settings(whose)
        return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]

    def command(self, whose: str, *words: str) -> str:
        """Run a command to its end, as the coordinator's operator or a host's owner would."""
        line = [sys.executable, "-m", "ipmicra", *self.options(whose), *words]
        done = subprocess.run(line, capture_output=True, text=True, check=False)  # noqa: S603 - our own
        if done.returncode:
            raise OurFault(
                f"ipmicra {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def _start(self, name: str, options: list[str], words: list[str]) -> subprocess.Popen[bytes]:
        return self._running.enter_context(self._process(name, [*options, *words]))

    @contextmanager
    def _process(self, name: str, words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        with (self._town.folder / f"{name}.log").open("wb") as log:
            line = [sys.executable, "-m", "ipmicra", *words]
            process = subprocess.Popen(  # noqa: S603 - our own commands
                line,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the demo; it ends the others in order
                preexec_fn=_die_with_parent,
            )
        try:
            yield process
        finally:
            _end(process)

    def _wait(self, name: str, process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
        until = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < until and process.poll() is None:
            if ready():
                return
            time.sleep(LOOK_SECONDS)
        last = (self._town.folder / f"{name}.log").read_text(errors="replace").strip()[-500:]
        raise OurFault(f"the demo's {name} did not start: {last or 'it said nothing'}")


def _die_with_parent() -> None:
    """Where the kernel can: a SIGTERM when the demo is gone, however it went."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=2):  # noqa: S310 - our own loopback servers
            return True
    except HTTPError as error:
        error.close()
        return False
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
