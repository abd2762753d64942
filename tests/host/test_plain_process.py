"""A crawler in a process of its own, without a sandbox: no page hangs the host."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

from ipmicra.host.sandbox import plain_process
from ipmicra.host.sandbox.code import Code, own_code
from tests.crawler.local_site import LocalSite, html
from tests.host.host_harness import WEB, command, events, host_settings, join, living, take, urls
from tests.host.hung_pages import SECONDS_TO_STOP_MAX, failures_in
from tests.host.scripted_coordinator import ScriptedCoordinator

PLAIN = own_code()._replace(is_confined=False)
HANGING = Code(Path(__file__).parents[2], "tests.host.hanging_guest", is_confined=False)
PAGES = {"/": html("/hang"), "/hang": html(text="hang here")}


def test_a_host_sends_home_what_its_crawler_in_a_process_has_fetched(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(WEB).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            async with living(tmp_path, host_settings(tmp_path), code=PLAIN):
                await home.until(lambda: len(home.pages()) == 4)
            assert sorted(home.pages()) == urls(site, "/", "/a", "/b", "/c")

    asyncio.run(story())


def test_a_small_page_that_hangs_its_crawler_is_left_out(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(PAGES).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            settings = host_settings(tmp_path, silent_seconds_max=5)
            async with living(tmp_path, settings, code=HANGING):
                await home.until(lambda: failures_in(home))
            assert failures_in(home) == {f"{site.address}/hang": "processing_killed"}
            assert site.paths().count("/hang") == 1

    asyncio.run(story())
    assert any("has not answered for 5 s" in line for line in events(tmp_path))


def test_a_host_obeys_while_a_page_hangs_its_crawler(tmp_path: Path) -> None:
    async def story() -> float:
        async with ScriptedCoordinator().serving() as home, LocalSite(PAGES).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/hang"))
            async with living(tmp_path, host_settings(tmp_path), code=HANGING):
                await home.until(lambda: "/hang" in site.paths())
                beats = len(home.heartbeats)
                await asyncio.to_thread(command, tmp_path, "host", "pause")
                paused = time.monotonic()
                await home.until(lambda: any("did not stop" in line for line in events(tmp_path)))
                assert time.monotonic() - paused < SECONDS_TO_STOP_MAX
                await home.until(lambda: len(home.heartbeats) > beats)
                stopped = time.monotonic()
            return time.monotonic() - stopped

    assert asyncio.run(story()) < SECONDS_TO_STOP_MAX


LONE_HOST = """
import sys, time
from pathlib import Path
from ipmicra.crawler.parsing.pool import ParserLimits
from ipmicra.host.hosted.guest.guest_config import encode_config
from {module} import start_plain
from ipmicra.host.sandbox.spec import SandboxLimits, SandboxSpec
from tests.host.host_harness import host_settings

folder = Path(sys.argv[1])
settings = host_settings(folder).hosting
(folder / "config").write_bytes(encode_config("lima", settings, parsers=ParserLimits()))
(folder / "state").mkdir()
limits = SandboxLimits.of(settings.host)
spec = SandboxSpec(
    Path.cwd(), "tests.host.hanging_guest", folder / "state", folder / "config", limits, is_confined=False
)
process = start_plain(spec)
while not (folder / "state" / "frontier.sqlite").exists():
    time.sleep(0.02)
process.freeze()  # as if it hung
print(process.pid, flush=True)
time.sleep(600)
"""


def test_a_crawler_that_hangs_ends_with_its_host(tmp_path: Path) -> None:
    words = [sys.executable, "-c", LONE_HOST.replace("{module}", plain_process.__name__), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as host:
        assert host.stdout is not None
        crawler = Path(f"/proc/{int(host.stdout.readline())}/stat")
        assert crawler.exists()
        host.kill()
    end = time.monotonic() + 40
    while crawler.exists() and ") Z " not in crawler.read_text():
        assert time.monotonic() < end, "it has outlived its host"
        time.sleep(0.02)
