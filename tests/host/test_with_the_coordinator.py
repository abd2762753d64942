"""By the documented commands alone: a real coordinator, real hosts, a made-up web on loopback."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from ipmicra.coordinator.leader.checkpoint import host_round_trips
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.lab.loopback.layout import WebLayout, crawler_address, round_trip_ms
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from tests.coordinator.coordinator_process import RunningCoordinator, free_port, running_coordinator

CITIES = ("Oslo", "Lima")  # no site is about as far from the one as from the other


class LentMachine:
    """One machine: its settings file, and the commands that its owner types."""

    def __init__(self, folder: Path, city: str, names_port: int) -> None:
        self.city, self.file = city, folder / f"{city}.toml"
        self.data, self._names_port = folder / city, names_port
        self.write("always")

    @property
    def address(self) -> str:
        return str(crawler_address(self.city))

    def write(self, hours: str) -> None:
        self.file.write_text(
            f"""
            [general]
            data_folder = "{self.data}"
            [fetching]
            open_ranges = ["127.0.0.0/8"]
            dns_servers = ["127.0.0.1:{self._names_port}"]
            source_address = "{self.address}"
            [probing]
            ways = ["answer"]
            tries = 3
            [crawler]
            delay_seconds_min = 0.01
            response_time_factor = 0.0
            package_seconds_max = 0.5
            commit_seconds = 0.1
            [host]
            cpu_share_max = 8.0
            hours = "{hours}"
            """
        )

    def line(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "ipmicra", "--settings", str(self.file), "host", *words]

    async def command(self, *words: str) -> str:
        done = await asyncio.to_thread(subprocess.run, self.line(*words), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen(self.line("run"))
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


async def until(happened: Callable[[], bool], seconds: float = 90.0) -> None:
    async with asyncio.timeout(seconds):
        while not happened():
            await asyncio.sleep(0.2)


def pages_asked(web: LoopbackWeb) -> Counter[tuple[str, str]]:
    """How often each page was fetched, by whomever."""
    return Counter(
        (line.site, line.path) for line in web.log if line.method == "GET" and line.path != "/robots.txt"
    )


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_hosts_join_crawl_what_is_nearest_change_hours_and_leave(tmp_path: Path) -> None:
    port, names_port = free_port(), free_port()
    layout = WebLayout.of(made_sites(5, 4, 6, port))
    web = LoopbackWeb(layout.sites, port, layout.round_trip_ms, names_port)
    settings = {
        "fetching.open_ranges": '["127.0.0.0/8"]',
        "fetching.dns_servers": f'["127.0.0.1:{names_port}"]',
        "coordinator.strategy": "brute-force",
        "coordinator.compared_share": "0",  # a page that another looks at too would be asked for twice
        "coordinator.mesh_refresh_seconds": "48",  # silence is asked again after a 24th of it
    }
    database = f"sqlite:///{tmp_path / 'rows.sqlite'}"
    machines = [LentMachine(tmp_path, city, names_port) for city in CITIES]

    (tmp_path / "home").mkdir()

    async def story() -> None:
        async with web:
            with running_coordinator(tmp_path / "home", database, settings) as coordinator:
                await play(coordinator)

    async def play(coordinator: RunningCoordinator) -> None:
        near, far = machines
        for machine in machines:
            name = machine.city.lower()
            made = await asyncio.to_thread(coordinator.rows, "register", name, "--json")
            await machine.command("join", coordinator.address, json.loads(made)["token"], "--yes")
        with near.running(), far.running():
            await until(lambda: hosts(coordinator, "awake") == 2)
            fronts = [f"http://{site.name}:{port}/" for site in layout.sites.values()]
            await asyncio.to_thread(coordinator.rows, "submit", *fronts)
            wanted = {(site.name, path) for site in layout.sites.values() for path in site.pages}
            await until(lambda: set(pages_asked(web)) >= wanted)
            assert askers(web) == nearest(layout)
            far_ms = round_trip_ms(*CITIES)
            await until(lambda: far_ms <= (between(database) or 0.0) < far_ms + 60)
            far.write("mon 03:00-03:01" if is_not_monday() else "tue 03:00-03:01")
            await until(lambda: hosts(coordinator, "awake") == 1)
            log = json.loads(await far.command("log", "--json"))
            assert {row["site"] for row in log["contacts"] if row["purpose"] == "fetch"} == {
                f"http://{name}:{port}" for name, asker in askers(web).items() if asker == far.address
            }
            await far.command("leave", "--yes")
            assert not (far.data / "host").exists()
            await until(lambda: sites_of(coordinator, "oslo") == len(layout.sites))
            await until(lambda: packages(coordinator).get("kept", 0) == 0)
        assert set(pages_asked(web).values()) == {1}, "a page was fetched twice"

    def askers(web: LoopbackWeb) -> dict[str, str]:
        found: dict[str, set[str]] = {}
        for line in web.log:
            if line.method == "GET":
                found.setdefault(line.site, set()).add(line.by)
        return {site: ",".join(sorted(by)) for site, by in found.items()}

    asyncio.run(story())


def between(database: str) -> float | None:
    """How far the two hosts are from each other, as they have measured."""
    opened = Database(database)
    try:
        with opened.read() as connection:
            found = [known.round_trip_ms for known in host_round_trips(connection)]
    finally:
        opened.close()
    return found[0] if found else None


def is_not_monday() -> bool:
    return datetime.now(UTC).weekday() != 0


def nearest(layout: WebLayout) -> dict[str, str]:
    """Which of the two machines is nearer to each site, as the layout has it."""
    found = {}
    for site in layout.sites.values():
        city = min(CITIES, key=lambda city: round_trip_ms(city, site.city))
        found[site.name] = str(IPv4Address(crawler_address(city)))
    return found


def hosts(coordinator: RunningCoordinator, quality: str) -> int:
    return sum(bool(host[quality]) for host in json.loads(coordinator.rows("hosts", "--json")))


def sites_of(coordinator: RunningCoordinator, name: str) -> int:
    found = json.loads(coordinator.rows("hosts", "--json"))
    return int(next(host["sites"] for host in found if host["name"] == name))


def packages(coordinator: RunningCoordinator) -> dict[str, int]:
    found: dict[str, int] = json.loads(coordinator.rows("status", "--json"))["packages"]
    return found
