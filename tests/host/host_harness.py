"""A host in a temporary folder: joined by the command, running in this process or in a separate one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
from click.testing import CliRunner, Result

from ipmicra.cli.main import program
from ipmicra.host.code.updater import CodeUpdater
from ipmicra.host.daemon import HostDaemon
from ipmicra.host.sandbox.code import Code
from ipmicra.host.settings import HostSettings
from ipmicra.host.store import HostStore
from ipmicra.model.ids import SiteEpoch
from ipmicra.protocol.host_messages import AssignedSite, AssignSites
from ipmicra.settings import Settings
from tests.crawler.crawl_harness import settings_for
from tests.crawler.local_site import Answer, LocalSite, html
from tests.host.scripted_coordinator import TOKEN, ScriptedCoordinator

WEB = {
    "/robots.txt": Answer(status=404),
    "/": html("/a", "/b", "https://elsewhere.example/"),
    "/a": html("/c"),
    "/b": html("/"),
    "/c": html(),
}


def host_settings(folder: Path, **host: object) -> Settings:
    settings = settings_for(folder, package_seconds_max=0.2, commit_seconds=0.05)
    rules = msgspec.convert({"cpu_share_max": 64, **host}, HostSettings)
    return msgspec.structs.replace(settings, host=rules)


def command(folder: Path, *words: str) -> Result:
    """An `ipmicra` command whose data folder is this one."""
    return CliRunner().invoke(program, ["--set", f"general.data_folder={folder}", *words])


async def join(coordinator: ScriptedCoordinator, folder: Path) -> None:
    """By the command, in a thread: the coordinator lives in this one."""
    words = ("host", "join", coordinator.address, TOKEN, "--yes")
    result = await asyncio.to_thread(command, folder, *words)
    assert result.exit_code == 0, result.output


@asynccontextmanager
async def living(
    folder: Path,
    settings: Settings,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    reload: Callable[[], Settings] | None = None,
    code: Code | None = None,
    dispatched: Callable[[HostStore], CodeUpdater] | None = None,
) -> AsyncIterator[tuple[HostDaemon, asyncio.Task[object]]]:
    """A host in this process, until the scene is over."""
    store = HostStore(folder / "host")
    try:
        sent = None if dispatched is None else dispatched(store)
        life = HostDaemon(
            folder / "host",
            settings.hosting,
            store,
            Random(1),
            clock,
            None if reload is None else lambda: reload().hosting,
            code,
            sent,
        )
        task = asyncio.create_task(life.run())
        try:
            yield life, task
        finally:
            life.stop()
            await asyncio.wait([task])
            task.result()
    finally:
        store.close()


def started(folder: Path, **overrides: str) -> subprocess.Popen[bytes]:
    """`ipmicra host run` in a separate process."""
    return subprocess.Popen(running_command(folder, **overrides))


def running_command(folder: Path, **overrides: str) -> list[str]:
    """`ipmicra host run`, quick and allowed to reach this machine."""
    settings = {
        "general.data_folder": f'"{folder}"',
        "crawler.grants": '[{site="127.0.0.1", requests_per_second=500, connections=4}]',
        "crawler.commit_seconds": "0.03",
        "crawler.commit_pages": "10",
        "crawler.package_records_max": "25",
        "crawler.package_seconds_max": "0.2",
        "fetching.open_ranges": '["127.0.0.0/8"]',
        "host.cpu_share_max": "8.0",
        "host.sandbox": '"never"',
        **overrides,
    }
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "ipmicra", *words, "host", "run"]


def take(site: LocalSite, *links: str, epoch: int = 1, has_state: bool = False) -> AssignSites:
    grant = AssignedSite(
        site=site.address, epoch=SiteEpoch(epoch), address="127.0.0.1", links=links, has_state=has_state
    )
    return AssignSites(grants=(grant,))


def urls(site: LocalSite, *paths: str) -> list[str]:
    return sorted(f"{site.address}{path}" for path in paths)


def events(folder: Path) -> list[str]:
    """The events in the host's log."""
    store = HostStore(folder / "host")
    try:
        return [event.what for event in store.events(1_000)]
    finally:
        store.close()
