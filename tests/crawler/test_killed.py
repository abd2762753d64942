"""SIGKILL at any moment: no URL is lost, and no page is in the packages twice.

Eight seeded moments as a matter of course; `KILLS=50` asks for fifty.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from ipmicra.crawler.frontier import Frontier
from tests.crawler.crawl_harness import records_in
from tests.crawler.local_site import Answer, Asked, LocalSite, html

KILLS = int(os.environ.get("KILLS", "8"))
PAGES = 60 * KILLS
pytestmark = [pytest.mark.slow, pytest.mark.timeout(60 + 30 * KILLS)]


def page(asked: Asked) -> Answer:
    """A tree of pages, each also linking back and across."""
    name = asked.path.removeprefix("/")
    if name == "robots.txt":
        return Answer(status=404)
    number = int(name or 0)
    near = [number * 3 + branch for branch in (1, 2, 3)] + [number // 3, (number * 7) % PAGES]
    return html(
        *(f"/{other}" for other in near if other < PAGES), title=str(number), text="words " * 200
    )


def crawler(folder: Path, site: LocalSite) -> subprocess.Popen[bytes]:
    settings = {
        "general.data_folder": f'"{folder}"',
        "crawler.grants": '[{site="127.0.0.1", requests_per_second=500, connections=4}]',
        "crawler.commit_seconds": "0.03",
        "crawler.commit_pages": "10",
        "crawler.package_records_max": "25",
    }
    overrides = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "ipmicra", *overrides, "crawl", site.address]
    return subprocess.Popen(
        [*command, "--allow-range", "127.0.0.0/8", "--json"], stdout=subprocess.DEVNULL
    )


async def until_asked(site: LocalSite, count: int, process: subprocess.Popen[bytes]) -> None:
    async with asyncio.timeout(60):
        while len(site.asked) < count and process.poll() is None:
            await asyncio.sleep(0.001)


def test_killed_at_random_moments_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    moments = random.Random(20_261_116)

    async def story() -> None:
        async with LocalSite(page).serving() as site:
            for _ in range(KILLS):
                process = crawler(tmp_path, site)
                await until_asked(site, len(site.asked) + moments.randint(1, 50), process)
                await asyncio.sleep(moments.uniform(0, 0.03))  # anywhere within a commit or a seal
                process.kill()
                process.wait()
            process = crawler(tmp_path, site)
            assert await asyncio.to_thread(process.wait, 30 + 10 * KILLS) == 0
        check(tmp_path, site)

    asyncio.run(story())


def check(folder: Path, site: LocalSite) -> None:
    (spool,) = (folder / "spool").iterdir()
    records = records_in(spool)
    wanted = {f"{site.address}/{number or ''}" for number in range(PAGES)} | {f"{site.address}/0"}
    assert sorted(record.url for record in records) == sorted(wanted)
    assert {record.visit for record in records} == {1}
    (database,) = (folder / "frontier").glob("*.sqlite")
    frontier = Frontier(database)
    try:
        assert frontier.counts().pending == 0
        assert frontier.counts().pages == len(wanted)
    finally:
        frontier.close()
    again = len(site.asked) - len(set(site.paths()))
    in_flight = 10 + 4 + 64  # a batch, what its lanes were fetching, and one lease
    assert again <= KILLS * in_flight
