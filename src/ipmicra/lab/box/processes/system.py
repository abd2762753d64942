"""The whole system in a box: a real coordinator, real hosts, by the commands that people type.

    with System(box, folder, {"coordinator.lease_seconds": "12"}) as system:
        system.start_coordinator()
        system.start_host("crawler-00")
        system.submit(urls)
        system.until(lambda: urls <= set(system.integrated()), 60)

Invariant: what is known of the system is asked of its public client, its database or its index; nothing is
taken from inside a process.
"""

from __future__ import annotations

import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from shutil import copyfile
from types import TracebackType
from typing import Self

import msgspec

from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.errors import HostFault, OurFault, SiteFault
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.kernel.namespace import Namespace
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.protocol.coordinator_api import CoordinatorStatus
from ipmicra.registry.folder import tree_file

PORT = 8790
SECONDS_TO_START = 90.0
LOOK_SECONDS = 0.2
SETTINGS = {
    "crawler.contact": "box@example.org",
    "crawler.delay_seconds_min": "0.2",
    "crawler.response_time_factor": "0.5",
    "crawler.retry_seconds": "1.0",
    "crawler.package_seconds_max": "1.0",
    "crawler.commit_seconds": "0.3",
    "fetching.connect_ms_max": "4000",
    "fetching.first_byte_ms_max": "5000",
    "fetching.dns_failure_seconds": "2",
    "host.cpu_share_max": "8.0",
    "coordinator.compared_share": "0",  # a page that another looks at too would count as fetched twice
    "coordinator.lease_seconds": "12",
    "coordinator.leader_seconds": "5",
    "coordinator.probe_seconds_max": "5",
    "coordinator.claim_seconds": "5",
    "coordinator.retry_seconds": "5",
    "coordinator.poll_seconds_max": "5",
    "coordinator.release_seconds_max": "10",
}


def settings_in(world: BoxWorld, folder: Path, further: Mapping[str, str] | None = None) -> list[str]:
    """Options of `ipmicra` for a process in the box that keeps everything in this folder."""
    settings = {
        **SETTINGS,
        "general.data_folder": str(folder),
        "fetching.dns_servers": f'["{world.file.names_address}:53"]',
        **(further or {}),
    }
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


class System:
    """Coordinator and hosts of one box. One thread only, as the box itself."""

    def __init__(
        self, box: NetworkBox, folder: Path, settings: Mapping[str, str], tree: Path | None = None
    ) -> None:
        self.box, self._folder, self._tree = box, folder, tree
        self._settings = settings
        self._address = box.world.file.coordinator.addresses[0]
        self._client = CoordinatorClient(f"http://{self._address}:{PORT}", patience_s=10.0)
        self._coordinator: subprocess.Popen[bytes] | None = None
        self._tunnels: list[subprocess.Popen[bytes]] = []
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in (*self._hosts.values(), *self._tunnels, self._coordinator):
            if process is not None:
                process.kill()
                process.wait()

    # --- the coordinator ------------------------------------------------------------------------------

    def start_coordinator(self) -> None:
        home = self._folder / "coordinator"
        if self._tree is not None and not tree_file(home).exists():
            tree_file(home).parent.mkdir(parents=True)
            copyfile(self._tree, tree_file(home))
        line = self._line("coordinator", "coordinator", "run", "--listen", f"{self._address}:{PORT}")
        self._coordinator = self._started(self.box.coordinator, "coordinator", line)
        self.until(self._is_ready, SECONDS_TO_START)

    def kill_coordinator(self) -> None:
        assert self._coordinator is not None, "the coordinator was not started"
        self._coordinator.kill()
        self._coordinator.wait()

    def submit(self, urls: Iterable[str]) -> None:
        self._command(self.box.coordinator, "coordinator", "coordinator", "submit", *urls)

    def status(self) -> CoordinatorStatus:
        with self.box.coordinator.inside():
            return self._client.status()

    def owners(self, sites: Iterable[str]) -> dict[str, str | None]:
        """Who has each site now, by the coordinator's own word."""
        with self.box.coordinator.inside():
            return {site: self._client.explain(f"http://{site}/").nearest.crawler for site in sites}

    def integrated(self) -> list[str]:
        """The URLs in the index's catalogue, each as often as it is there."""
        path = self._folder / "coordinator" / "index" / "ledger.sqlite"
        if not path.exists():
            return []
        catalogue = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        try:
            tables = catalogue.execute("SELECT name FROM sqlite_master WHERE name = 'pages'").fetchall()
            asked = "SELECT url FROM pages WHERE facts IS NOT NULL"
            rows = catalogue.execute(asked).fetchall() if tables else []
        finally:
            catalogue.close()
        return sorted(url for (url,) in rows)

    # --- hosts ----------------------------------------------------------------------------------------

    def join(self, name: str) -> None:
        """Register a host, and let it join from its own namespace."""
        output = self._command(
            self.box.coordinator, "coordinator", "coordinator", "register", name, "--json"
        )
        token = msgspec.json.decode(output, type=dict[str, object])["token"]
        where = self.box.crawler(name)
        tunnel = [sys.executable, "-m", "ipmicra.lab.box.kernel.tunnel", str(PORT), self._address]
        self._tunnels.append(self._started(where, f"tunnel-{name}", tunnel))
        self.until(lambda: _hears(where), SECONDS_TO_START)
        self._command(where, name, "host", "join", f"http://127.0.0.1:{PORT}", str(token), "--yes")

    def start_host(self, name: str) -> None:
        line = self._line(name, "host", "run")
        self._hosts[name] = self._started(self.box.crawler(name), name, line)

    def kill_host(self, name: str) -> None:
        self._hosts[name].send_signal(signal.SIGKILL)
        self._hosts[name].wait()

    # --- waiting ----------------------------------------------------------------------------------------

    def until(self, happened: Callable[[], object], seconds: float) -> float:
        """How long it took, in s; HostFault with the logs where it did not happen in time."""
        began = time.monotonic()
        while not happened():
            if time.monotonic() - began > seconds:
                raise HostFault(
                    f"in the box, what was waited for did not happen in {seconds} s:\n{self.logs()}"
                )
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - began

    def logs(self) -> str:
        return "\n".join(
            f"{log.name}:\n{log.read_text()[-1_500:]}" for log in self._folder.glob("*.log")
        )

    def _is_ready(self) -> bool:
        assert self._coordinator is not None, "the coordinator was not started"
        if self._coordinator.poll() is not None:
            raise OurFault(f"the box's coordinator did not start:\n{self.logs()}")
        try:
            self.status()
        except SiteFault:
            return False
        return True

    def _line(self, who: str, *words: str) -> list[str]:
        options = settings_in(self.box.world, self._folder / who, self._settings)
        return [sys.executable, "-m", "ipmicra", *options, *words]

    def _started(self, where: Namespace, name: str, line: list[str]) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            return where.start(line, stdout=log, stderr=log)

    def _command(self, where: Namespace, who: str, *words: str) -> bytes:
        done = where.start(self._line(who, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, complaints = done.communicate()
        if done.returncode:
            raise OurFault(f"in the box: ipmicra {' '.join(words)}: {complaints.decode()}")
        return out


def _hears(where: Namespace) -> bool:
    with where.socket(socket.AF_INET, socket.SOCK_STREAM) as plug:
        return plug.connect_ex(("127.0.0.1", PORT)) == 0
