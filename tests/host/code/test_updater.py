"""Code that travels: upgrades in place under load, and code that crashes, hangs or does nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ipmicra.coordinator.bundles.contents import contents
from ipmicra.host.code.health import TrialRules
from ipmicra.host.code.updater import CodeUpdater
from ipmicra.host.sandbox.code import PROGRAM, own_code
from ipmicra.host.store import HostStore
from ipmicra.protocol.bundle_format import pack
from ipmicra.protocol.host_messages import CodeReport, Upgrade
from tests.crawler.local_site import Answer, Asked, LocalSite, html
from tests.host.code.published_bundles import NOW, Publisher, publishing
from tests.host.host_harness import host_settings, join, living, take
from tests.host.scripted_coordinator import ScriptedCoordinator

UPGRADES = int(os.environ.get("IPMICRA_UPGRADES", "4"))
WIDTH = 100  # pages that can be fetched at any time
PATIENT = TrialRules(answer_s_max=30.0, work_s_max=15.0)
IMPATIENT = TrialRules(answer_s_max=3.0, work_s_max=5.0)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120 + 20 * UPGRADES)]


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    with publishing(tmp_path / "operator") as running:
        yield running


def real_bundle(version: str) -> bytes:
    made = contents(PROGRAM)
    files = {**made.files, "mark.py": f"VERSION = {version!r}\n".encode()}
    return pack(version, PROGRAM, files, made.packages)


def broken_bundle(version: str, source: str) -> bytes:
    return pack(version, "broken", {"broken.py": source.encode()})


def release(publisher: Publisher, bundle: bytes) -> None:
    publisher.repository.sign(bundle, publisher.keys, NOW)


def dispatching(
    publisher: Publisher, folder: Path, rules: TrialRules = PATIENT
) -> Callable[[HostStore], CodeUpdater]:
    return lambda store: CodeUpdater(
        folder / "host" / "code", publisher.host("host-trust"), own_code(), store.log_event, rules
    )


def web(pages: int, seconds: float = 0.0) -> dict[str, Answer]:
    """A front page that links to all others."""
    others = [f"/{number}" for number in range(1, pages)]
    linked = {"/": html(*others)} | {path: html(title=f"page {path}") for path in others}
    return {path: answer._replace(seconds=seconds) for path, answer in linked.items()}


def code(home: ScriptedCoordinator) -> CodeReport:
    return home.heartbeats[-1].code if home.heartbeats else CodeReport()


class Busy:
    """A site that has another page to each one that is fetched, until it is told that it is enough."""

    def __init__(self) -> None:
        self.enough = False

    def __call__(self, asked: Asked) -> Answer:
        number = asked.path.strip("/")
        if asked.path == "/":
            return html(*(f"/{first}" for first in range(1, WIDTH + 1)))
        if not number.isdecimal():
            return Answer(status=404)
        on = () if self.enough else (f"/{int(number) + WIDTH}",)
        return html(*on, title=f"page {number}")._replace(seconds=0.05)


def test_upgrades_under_load_lose_no_page_and_fetch_none_twice(
    tmp_path: Path, publisher: Publisher
) -> None:
    async def story() -> None:
        busy = Busy()
        async with ScriptedCoordinator().serving() as home, LocalSite(busy).serving() as site:
            home.lease_s = 2.0  # so that heartbeats come twice a second
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            settings, sent = host_settings(tmp_path), dispatching(publisher, tmp_path)
            async with living(tmp_path, settings, code=own_code(), dispatched=sent):
                await home.until(lambda: len(home.pages()) > 5)
                for number in range(1, UPGRADES + 1):
                    await upgraded(home, publisher, f"9.{number}")
                busy.enough = True
                await home.until(lambda: set(home.pages()) == pages_of(site), 60)
            assert len(home.pages()) == len(set(home.pages())), "none came home twice"
            fetched = [path for path in site.paths() if is_page(path)]
            twice = {path for path in fetched if fetched.count(path) > 1}
            assert not twice, f"fetched twice: {twice}"

    asyncio.run(story())


async def upgraded(home: ScriptedCoordinator, publisher: Publisher, version: str) -> None:
    """Ordered, done, and healthy."""
    await asyncio.to_thread(
        lambda: release(publisher, real_bundle(version))
    )  # the site answers meanwhile
    order = home.give(Upgrade(version=version))
    await home.until(lambda: order in home.done, 60)
    assert home.done[order].done, home.done[order]
    await home.until(lambda: code(home).version == version, 60)


def pages_of(site: LocalSite) -> set[str]:
    return {f"{site.address}{path}" for path in site.paths() if is_page(path)}


def is_page(path: str) -> bool:
    return path == "/" or path[1:].isdecimal()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise SystemExit(3)", "exited by itself"),
        ("while True: pass", "answer"),
    ],
)
def test_code_that_crashes_or_hangs_is_rolled_back_and_the_work_goes_on(
    tmp_path: Path, publisher: Publisher, source: str, reason: str
) -> None:
    async def story() -> None:
        site = LocalSite(web(40))
        async with ScriptedCoordinator().serving() as home, site.serving():
            home.lease_s = 2.0
            await join(home, tmp_path)
            settings = host_settings(tmp_path)
            async with living(
                tmp_path,
                settings,
                code=own_code(),
                dispatched=dispatching(publisher, tmp_path, IMPATIENT),
            ):
                release(publisher, broken_bundle("9.1", source))
                home.give(Upgrade(version="9.1"))
                await home.until(lambda: dict(code(home).refused).get("9.1"), 80)
                assert reason in dict(code(home).refused)["9.1"]
                home.give(take(site, f"{site.address}/"))
                await home.until(lambda: len(set(home.pages())) == 40, 60)
                again = home.give(Upgrade(version="9.1"))
                await home.until(lambda: again in home.done)
                assert "was tried and failed" in home.done[again].detail

    asyncio.run(story())


def test_code_that_has_fetched_all_there_is_at_once_has_proved_itself(
    tmp_path: Path, publisher: Publisher
) -> None:
    """Its only page is fetched before it first says how it goes unasked."""
    no_end = TrialRules(answer_s_max=60.0, work_s_max=3600.0)

    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(web(1)).serving() as site:
            home.lease_s = 2.0
            await join(home, tmp_path)
            sent = dispatching(publisher, tmp_path, no_end)
            async with living(tmp_path, host_settings(tmp_path), code=own_code(), dispatched=sent):
                release(publisher, real_bundle("9.1"))
                home.give(Upgrade(version="9.1"))
                await home.until(lambda: code(home).trial == "9.1", 60)
                home.give(take(site, f"{site.address}/"))
                await home.until(lambda: code(home).version == "9.1", 60)

    asyncio.run(story())


def test_code_that_is_not_signed_for_is_refused_and_nothing_stops(
    tmp_path: Path, publisher: Publisher
) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            home.lease_s = 2.0
            await join(home, tmp_path)
            settings = host_settings(tmp_path)
            async with living(
                tmp_path, settings, code=own_code(), dispatched=dispatching(publisher, tmp_path)
            ):
                order = home.give(Upgrade(version="6.6"))
                await home.until(lambda: order in home.done)
                assert not home.done[order].done
                assert "not among the signed" in home.done[order].detail
                await home.until(lambda: "6.6" in dict(code(home).refused))

    asyncio.run(story())


def test_a_host_whose_owner_runs_his_own_code_takes_no_other(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home:
            await join(home, tmp_path)
            async with living(tmp_path, host_settings(tmp_path)):
                order = home.give(Upgrade(version="9.1"))
                await home.until(lambda: order in home.done)
                assert "only code that its owner installs" in home.done[order].detail
                assert not code(home).takes_bundles

    asyncio.run(story())
