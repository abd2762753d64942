"""SIGKILL of a real host at any moment: every page comes home once, and no sequence number is used twice.

Four seeded moments as a matter of course; `IPMICRA_KILLS=50` asks for fifty.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest

from ipmicra.model.ids import SiteEpoch
from ipmicra.protocol.host_messages import AssignedSite, AssignSites
from tests.crawler.local_site import Answer, Asked, LocalSite, html
from tests.host.host_harness import join, started
from tests.host.scripted_coordinator import ScriptedCoordinator

KILLS = int(os.environ.get("IPMICRA_KILLS", "4"))
PAGES = 60 * KILLS


def page(asked: Asked) -> Answer:
    """A tree of pages, each also linking back and across."""
    name = asked.path.removeprefix("/")
    if name == "robots.txt":
        return Answer(status=404)
    number = int(name or 0)
    near = [number * 3 + branch for branch in (1, 2, 3)] + [number // 3, (number * 7) % PAGES]
    return html(*(f"/{other}" for other in near if other < PAGES), text=f"{number} words " * 100)


def has_asked(site: LocalSite, count: int) -> bool:
    return len(site.asked) >= count


@pytest.mark.slow
def test_killed_at_random_moments_every_page_comes_home_once(tmp_path: Path) -> None:
    moments = random.Random(20_261_117)

    async def story() -> None:
        async with ScriptedCoordinator().serving() as home, LocalSite(page).serving() as site:
            await join(home, tmp_path)
            grant = AssignedSite(site=site.address, epoch=SiteEpoch(1), links=(f"{site.address}/",))
            home.give(AssignSites(grants=(grant,)))
            for _ in range(KILLS):
                process = started(tmp_path)
                more = len(site.asked) + moments.randint(1, 40)
                await home.until(partial(has_asked, site, more))
                await asyncio.sleep(moments.uniform(0, 0.1))  # anywhere within a commit, a seal, a PUT
                process.kill()
                await asyncio.to_thread(process.wait)
            process = started(tmp_path)
            wanted = sorted(f"{site.address}/{number or ''}" for number in range(PAGES))
            wanted.append(f"{site.address}/0")
            await home.until(lambda: len(home.pages()) >= len(wanted), seconds=60)
            process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 20) == 0
        assert sorted(home.pages()) == sorted(wanted)
        for used in home.sequences.values():
            assert used == sorted(set(used))

    asyncio.run(story())
