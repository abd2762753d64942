"""A real host that joins, crawls two sites and gives one back, recorded; and what it must hold after a cut.

Marks: `joined`; `order N`, when the host has reported it; `package N`, when the coordinator has its bytes;
`state`, when the coordinator has that of the site that was given back.
"""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ipmicra.carrier.package import unpack
from ipmicra.host import folder as folders
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import STATE_FOLDER
from ipmicra.host.identity import read_key
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.site_state_file import chunks_in
from ipmicra.host.store import HostStore
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.records import PageSeen
from ipmicra.protocol.host_messages import ReleaseSites
from tests.crawler.local_site import Answer, LocalSite
from tests.crawler.local_site import Asked as SiteAsked
from tests.crawler.local_site import html as page_of
from tests.host.host_harness import host_settings, running_command, take
from tests.host.scripted_coordinator import TOKEN, Asked, ScriptedCoordinator
from tests.power_cut.crash_states import CrashState
from tests.power_cut.recorder import Recorder, Recording

PAGES = 40
SECONDS_MAX = 60.0


class WatchedCoordinator(ScriptedCoordinator):
    """It notes what the host may rely on, before it answers; and what it has by then survives."""

    def __init__(self, mark: Callable[[str], None]) -> None:
        super().__init__()
        self._mark, self._noted = mark, set[str]()

    async def respond(self, asked: Asked) -> bytes:
        answer = await super().respond(asked)
        for number in self.done:
            self._note(f"order {number}")
        for number in self.packages:
            self._note(f"package {number}")
        if self.states:
            self._note("state")
        return answer

    def _note(self, what: str) -> None:
        if what not in self._noted:
            self._noted.add(what)
            self._mark(what)


@dataclass
class HostRun:
    """What was recorded, and what the coordinator had got at the end."""

    recording: Recording
    packages: dict[int, bytes]
    kept_site: str
    released_site: str
    public_key: bytes


def page(asked: SiteAsked) -> Answer:
    """A tree of pages."""
    name = asked.path.removeprefix("/")
    if name == "robots.txt":
        return Answer(status=404)
    number = int(name or 0)
    links = [number * 3 + branch for branch in (1, 2, 3)]
    return page_of(*(f"/{link}" for link in links if link < PAGES), text=f"{number} words " * 100)


def record(folder: Path) -> HostRun:
    recorder = Recorder(folder / "data", folder / "traces")
    return asyncio.run(_record(recorder, folder / "data"))


async def _record(recorder: Recorder, data: Path) -> HostRun:
    home = WatchedCoordinator(recorder.mark)
    async with home.serving(), LocalSite(page).serving() as kept, LocalSite(page).serving() as released:
        words = ["--set", f"general.data_folder={data}", "host", "join", home.address, TOKEN, "--yes"]
        await asyncio.to_thread(recorder.run, [sys.executable, "-m", "ipmicra", *words])
        recorder.mark("joined")
        process = subprocess.Popen(recorder.traced(running_command(data)))
        try:
            home.give(take(kept, f"{kept.address}/"))
            home.give(take(released, f"{released.address}/"))
            await home.until(lambda: len(home.pages()) == 2 * PAGES, SECONDS_MAX)
            home.give(ReleaseSites(sites=((released.address, SiteEpoch(1)),)))
            await home.until(lambda: home.states and len(home.done) == 3, SECONDS_MAX)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, SECONDS_MAX) == 0
        finally:
            process.kill()
        recording = await asyncio.to_thread(recorder.recording)
    recording.check_complete()
    packages = {number: data for number, (_, data) in home.packages.items()}
    return HostRun(recording, packages, kept.address, released.address, home.public_key)


# --- after the cut ------------------------------------------------------------------------------------


def check(run: HostRun, state: CrashState, data: Path) -> None:
    """The host starts, keeps what it reported, and has or has sent every page that it holds to be done."""
    promised = {mark.what for mark in state.marks}
    if "joined" not in promised:
        return
    folder = data / folders.FOLDER
    with folders.open_store(folder) as store:
        assert folders.membership(store).host == "lima"
        folder.joinpath("identity.key").chmod(0o600)
        assert read_key(folder).public_key().public_bytes_raw() == run.public_key
        held = [site.site for site in store.held_sites()]
        if "order 1" in promised:
            assert run.kept_site in held
        if "order 3" in promised:
            assert run.released_site not in held
        _check_crawler(run, store, promised, folder / STATE_FOLDER)


def _check_crawler(run: HostRun, store: HostStore, promised: set[str], folder: Path) -> None:
    settings = host_settings(folder.parent.parent).hosting
    meter = UsageMeter(store, settings.host, lambda: datetime.now(UTC))
    crawler = InProcessCrawler(folder, "lima", settings, meter)
    try:
        crawler.spool.seal()
        kept = {
            package.sequence: crawler.package_bytes(package) for package in crawler.waiting_packages()
        }
        following = crawler.spool.position.sequence
        states = [crawler.state_bytes(waiting.file) for waiting in store.waiting_states()]
    finally:
        crawler.spool.close()
        crawler.frontier.close()
    sent = {number: data for number, data in run.packages.items() if f"package {number}" in promised}
    for number in kept.keys() & sent.keys():
        assert kept[number] == sent[number], f"another package {number} was sent before"
    assert following > max(sent, default=0), "the number of a package that was sent would be used again"
    home = Counter(urls_in({**kept, **sent}.values()))
    done, known = urls_of(folder / "frontier.sqlite")
    assert done <= set(home), f"{len(done - set(home))} pages are done, and neither here nor sent"
    assert max(home.values(), default=1) == 1, "a page is there twice"
    if "order 1" in promised:
        assert f"{run.kept_site}/" in known
    if "order 3" in promised:
        assert sum(url.startswith(f"{run.released_site}/") for url in home) == PAGES
        if "state" not in promised:
            assert states
            assert all(list(chunks_in(state)) for state in states)


def urls_in(packages: Iterable[bytes]) -> list[str]:
    return [
        record.url
        for data in packages
        for record in unpack(data).records
        if isinstance(record, PageSeen)
    ]


def urls_of(frontier: Path) -> tuple[set[str], set[str]]:
    """URLs that are done, and all that are known."""
    with closing(sqlite3.connect(frontier)) as rows:
        done = _read(rows, "SELECT site || path FROM visits JOIN sites ON sites.id = site_id")
        queued = _read(rows, "SELECT site || path FROM queue JOIN sites ON sites.id = site_id")
    return done, done | queued


def _read(rows: sqlite3.Connection, query: str) -> set[str]:
    return {url for (url,) in rows.execute(query)}
