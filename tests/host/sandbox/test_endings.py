"""How code in a sandbox ends: with its dock, at the end of the hours, and at its owner's word."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from ipmicra.host.sandbox.code import Code, own_code
from tests.crawler.local_site import LocalSite, html
from tests.host.host_harness import command, events, host_settings, join, living, take
from tests.host.sandbox.adversary_harness import CODE
from tests.host.scripted_coordinator import ScriptedCoordinator

SECONDS_TO_STOP_MAX = 5.0


def test_code_cannot_outlive_its_host_program(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.host.sandbox.lone_host", str(tmp_path), "outlive"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as dock:
        assert dock.stdout is not None
        told = json.loads(dock.stdout.readline())
        process = Path(f"/proc/{told['pid']}")
        assert "PermissionError" in told["stopped"]
        assert any("to outlive the host (prctl): not permitted" in line for line in told["log"])
        assert process.exists()
        dock.kill()
    end = time.monotonic() + SECONDS_TO_STOP_MAX
    while process.exists():
        assert time.monotonic() < end, "it has outlived its dock"
        time.sleep(0.02)


def test_deaf_code_stops_within_five_seconds_of_the_hours_end(tmp_path: Path) -> None:
    """The clock is moved to the end of a span while the code asks a site as fast as it can."""
    moved = timedelta()
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    begun = time.monotonic()

    def clock() -> datetime:
        return noon + timedelta(seconds=time.monotonic() - begun) + moved

    async def story() -> None:
        nonlocal moved
        async with ScriptedCoordinator().serving() as home, LocalSite({"/": html()}).serving() as site:
            await join(home, tmp_path)
            rules = {"hours": "08:00-18:00", "own_sites": [site.address]}
            settings = host_settings(tmp_path, **rules)
            code = shutil.copytree(CODE, tmp_path / "code")
            (code / "target-port").write_text(str(urlsplit(site.address).port))
            async with living(tmp_path, settings, clock, code=Code(code, "deaf")):
                await home.until(lambda: len(site.asked) > 20)
                moved = timedelta(hours=8)
                ended = time.monotonic()
                asked = -1
                while asked != len(site.asked):
                    asked = len(site.asked)
                    await asyncio.sleep(1)
                assert time.monotonic() - ended - 1 < SECONDS_TO_STOP_MAX
                await home.until(lambda: any("did not stop" in line for line in events(tmp_path)))
                await asyncio.sleep(1)
                assert len(site.asked) == asked

    asyncio.run(story())


def test_a_pause_cuts_the_connections_of_honest_code_within_five_seconds(tmp_path: Path) -> None:
    paths = [f"/page-{number}" for number in range(3_000)]
    pages = {path: html() for path in paths} | {"/": html(*paths)}

    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(pages).serving() as site:
            await join(home, tmp_path)
            home.give(take(site, f"{site.address}/"))
            async with living(tmp_path, host_settings(tmp_path), code=own_code()):
                await home.until(lambda: len(site.asked) > 20)
                await asyncio.to_thread(command, tmp_path, "host", "pause")
                paused = time.monotonic()
                asked = -1
                while asked != len(site.asked):
                    asked = len(site.asked)
                    await asyncio.sleep(0.5)
                assert time.monotonic() - paused - 0.5 < SECONDS_TO_STOP_MAX
                await asyncio.to_thread(command, tmp_path, "host", "resume")
                await home.until(lambda: len(site.asked) > asked + 20)

    asyncio.run(story())
