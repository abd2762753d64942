"""A page that hangs its crawler: the host ends the crawler and begins it anew without the page.

The page is a PDF whose reading has no end; in a sandbox it is read in the crawler's own process.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from ipmicra.host.sandbox.code import own_code
from tests.crawler.local_site import Answer, LocalSite, html
from tests.host.host_harness import command, events, host_settings, join, living, take
from tests.host.hung_pages import SECONDS_TO_STOP_MAX, failures_in
from tests.host.scripted_coordinator import ScriptedCoordinator
from tests.hostile.hostile_pdf import nested_forms

PDF = Answer(nested_forms(12), headers={"Content-Type": "application/pdf"})
HANGING = {"/robots.txt": Answer(status=404), "/hang.pdf": PDF}
HONEST = {"/robots.txt": Answer(status=404), "/": html("/a"), "/a": html()}
MEMORY_BYTES = 8 << 30  # so that it hangs, and does not end by itself


def test_a_crawler_that_hangs_is_begun_anew_without_the_page(tmp_path: Path) -> None:
    async def story() -> None:
        hanging, honest = LocalSite(HANGING), LocalSite(HONEST)
        async with ScriptedCoordinator().serving() as home, hanging.serving(), honest.serving():
            await join(home, tmp_path)
            home.give(take(hanging, f"{hanging.address}/hang.pdf"))
            settings = host_settings(tmp_path, silent_seconds_max=5, memory_bytes_max=MEMORY_BYTES)
            async with living(tmp_path, settings, code=own_code()):
                await home.until(lambda: "/hang.pdf" in hanging.paths())
                beats = len(home.heartbeats)
                home.give(take(honest, f"{honest.address}/"))
                await home.until(lambda: len(home.pages()) == 2)
                await home.until(lambda: failures_in(home))
                assert len(home.heartbeats) > beats
            assert failures_in(home) == {f"{hanging.address}/hang.pdf": "processing_killed"}
            assert hanging.paths().count("/hang.pdf") == 1

    asyncio.run(story())
    assert any("has not answered for 5 s" in line for line in events(tmp_path))


def test_a_host_whose_crawler_hangs_pauses_and_stops_within_five_seconds(tmp_path: Path) -> None:
    async def story() -> float:
        hanging = LocalSite(HANGING)
        async with ScriptedCoordinator().serving() as home, hanging.serving():
            await join(home, tmp_path)
            home.give(take(hanging, f"{hanging.address}/hang.pdf"))
            settings = host_settings(tmp_path, memory_bytes_max=MEMORY_BYTES)
            async with living(tmp_path, settings, code=own_code()):
                await home.until(lambda: "/hang.pdf" in hanging.paths())
                await asyncio.to_thread(command, tmp_path, "host", "pause")
                paused = time.monotonic()
                await home.until(lambda: any("did not stop" in line for line in events(tmp_path)))
                assert time.monotonic() - paused < SECONDS_TO_STOP_MAX
                await asyncio.to_thread(command, tmp_path, "host", "resume")
                await home.until(lambda: failures_in(home))
                stopped = time.monotonic()
            return time.monotonic() - stopped

    assert asyncio.run(story()) < SECONDS_TO_STOP_MAX
