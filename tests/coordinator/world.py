"""A generated Internet with a coordinator and hosts in separate processes, for whole stories."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from click.testing import CliRunner

from ipmicra.cli.main import program
from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.lab.loopback.layout import WebLayout
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from tests.coordinator.coordinator_process import RunningCoordinator, free_port

MANNERS = {
    "crawler.delay_seconds_min": "0.01",
    "crawler.response_time_factor": "0.5",
    "crawler.retry_seconds": "0.5",
    "crawler.package_seconds_max": "0.3",
    "crawler.commit_seconds": "0.1",
    "crawler.contact": '"tester@example.org"',
    "fetching.open_ranges": '["127.0.0.0/8"]',
    "coordinator.compared_share": "0",  # a page that another looks at too would be asked for twice
    "host.cpu_share_max": "8.0",
    "host.sandbox": '"never"',  # it has tests of its own; here hosts are killed by the dozen
}


class World:
    """Sites on loopback, a coordinator, hosts."""

    def __init__(self, folder: Path, database: str, web: LoopbackWeb, settings: dict[str, str]) -> None:
        self.folder = folder
        self.web = web
        self.settings = {
            **MANNERS,
            "fetching.dns_servers": f'["127.0.0.1:{web.names_port}"]',
            **settings,
        }
        home = folder / "home"
        home.mkdir()
        self.coordinator = RunningCoordinator(home, database, free_port(), self.settings)
        self.worker: subprocess.Popen[bytes] | None = None
        self.of_host: dict[str, dict[str, str]] = {}  # settings of one host alone
        self.environments: dict[str, dict[str, str]] = {}  # of a host's process
        self.client = CoordinatorClient(self.coordinator.address)
        self.hosts: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def urls(self) -> set[str]:
        """Every page there is."""
        return {
            f"http://{site.name}:{self.web.port}{path}"
            for site in self.web.sites.values()
            for path in site.pages
        }

    @property
    def roots(self) -> list[str]:
        return sorted(url for url in self.urls if url.endswith("/"))

    def join(self, name: str) -> None:
        """By the documented commands."""
        told = self.coordinator.rows("register", name, "--json")
        token = msgspec.json.decode(told)["token"]
        words = [*self.options(name), "host", "join", self.coordinator.address, token, "--yes"]
        result = CliRunner().invoke(program, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output

    def start_host(self, name: str) -> None:
        words = [sys.executable, "-m", "ipmicra", *self.options(name), "host", "run"]
        with (self.folder / f"{name}.log").open("ab") as log:
            environment = {**os.environ, **self.environments.get(name, {})}
            self.hosts[name] = subprocess.Popen(words, stdout=log, stderr=log, env=environment)

    def crawler_state(self, name: str) -> str:
        """The state, as the command shows it."""
        told = self.coordinator.rows("crawlers", "--ended", "--json")
        crawlers = msgspec.json.decode(told, type=list[dict[str, object]])
        return next(str(crawler["state"]) for crawler in crawlers if crawler["name"] == name)

    def start_worker(self) -> None:
        """Integrate in a separate process; the coordinator's settings forbid it to integrate."""
        words = self.coordinator.command("coordinator", "work", "--database", self.coordinator.database)
        with (self.folder / "worker.log").open("ab") as log:
            self.worker = subprocess.Popen(words, stdout=log, stderr=log)

    def kill_worker(self) -> None:
        assert self.worker is not None
        self.worker.kill()
        self.worker.wait()

    def host_command(self, name: str, *words: str) -> str:
        line = [*self.options(name), "host", *words]
        result = CliRunner().invoke(program, line, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    def kill_host(self, name: str) -> None:
        self.hosts[name].kill()
        self.hosts[name].wait()

    def integrated(self) -> list[str]:
        """The URLs in the index's catalogue, each as often as it is there."""
        path = self.folder / "home" / "index" / "ledger.sqlite"
        if not path.exists():
            return []
        ledger = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        try:
            rows = ledger.execute("SELECT url FROM pages WHERE facts IS NOT NULL").fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):  # it is being made
                raise
            return []
        finally:
            ledger.close()
        return sorted(url for (url,) in rows)

    def until(self, happened: Callable[[], object], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not happened():
            if time.monotonic() > end:
                missing = sorted(self.urls - set(self.integrated()))
                raise AssertionError(
                    f"not in {seconds} s; {len(missing)} missing: {missing[:3]}\n{self.logs()}"
                )
            time.sleep(0.1)

    def logs(self) -> str:
        names = [self.coordinator.log, *self.folder.glob("*.log")]
        return "\n".join(f"{path.name}:\n{path.read_text()[-1500:]}" for path in names if path.exists())

    def options(self, name: str) -> list[str]:
        data_folder = {"general.data_folder": str(self.folder / name)}
        settings = {**data_folder, **self.settings, **self.of_host.get(name, {})}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        file = self.settings_file(name)
        return [*(["--settings", str(file)] if file.exists() else []), *words]

    def settings_file(self, name: str) -> Path:
        """The settings file that its owner may change while the host runs."""
        return self.folder / f"{name}.toml"

    def close(self) -> None:
        processes = [*self.hosts.values(), self.coordinator.process, self.worker]
        for process in processes:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


@contextmanager
def made_up_world(
    folder: Path, database: str, sites: int, pages: int, settings: dict[str, str] | None = None
) -> Iterator[World]:
    port, names_port = free_port(), free_port()
    layout = WebLayout.of(made_sites(1, sites, pages, port))
    web = LoopbackWeb(layout.sites, port, names_port=names_port)
    with _serving(web):
        world = World(folder, database, web, settings or {})
        try:
            yield world
        finally:
            world.close()


@contextmanager
def _serving(web: LoopbackWeb) -> Iterator[None]:
    """The web in a separate thread, since the story waits for processes."""
    loop, started = asyncio.new_event_loop(), threading.Event()
    over = asyncio.Event()

    async def serve() -> None:
        async with web:
            started.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert started.wait(20)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.close()
