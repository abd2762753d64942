"""A crawl of several processes: every page once, each address asked by its owner alone, whatever happens."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ipmicra.crawler.decisions.partition import owner_of
from ipmicra.model.records import PageSeen
from tests.crawler.crawl_harness import records_in
from tests.crawler.local_site import Answer, Asked, LocalSite, html

ADDRESSES = [f"127.0.0.{number}" for number in range(11, 17)]
PAGES = 25  # of each site
PROCESSES = 2


def page(asked: Asked) -> Answer:
    """A chain of pages on each address, each also naming its fellow on the next address."""
    if asked.path == "/robots.txt":
        return Answer(status=404)
    number = int(asked.path.strip("/") or 0)
    address, _, port = asked.host.partition(":")
    other = ADDRESSES[(ADDRESSES.index(address) + 1) % len(ADDRESSES)]
    links = [f"http://{other}:{port}/{number}"]
    if number + 1 < PAGES:
        links.append(f"/{number + 1}")
    return html(*links, title=f"{address} {number}", text="words " * 50)


class Web:
    """Six sites on six addresses."""

    def __init__(self, sites: list[LocalSite]) -> None:
        self.sites, self.port = sites, sites[0].port

    def asked(self) -> list[str]:
        return [f"http://{asked.host}{asked.path}" for site in self.sites for asked in site.asked]

    def pages(self) -> set[str]:
        return {
            f"http://{address}:{self.port}/{number}" for address in ADDRESSES for number in range(PAGES)
        }


@asynccontextmanager
async def web() -> AsyncIterator[Web]:
    async with AsyncExitStack() as stack:
        sites: list[LocalSite] = []
        for address in ADDRESSES:
            port = sites[0].port if sites else 0
            sites.append(await stack.enter_async_context(LocalSite(page).serving(address, port)))
        yield Web(sites)


async def start(folder: Path, port: int, *words: str, rate: int = 1000) -> Process:
    grants = ", ".join(
        f'{{site="{address}", requests_per_second={rate}, connections=2}}' for address in ADDRESSES
    )
    overrides = {
        "general.data_folder": f'"{folder}"',
        "crawler.grants": f"[{grants}]",
        "crawler.commit_seconds": "0.05",
        "crawler.patience_seconds": "0.2",
        "crawler.package_records_max": "20",
    }
    options = [word for name, value in overrides.items() for word in ("--set", f"{name}={value}")]
    scope = ("--scope", "pattern", "--pattern", r"^http://127\.0\.0\.1", "--name", "shared")
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ipmicra", *options, "crawl", f"http://{ADDRESSES[0]}:{port}/0"),
        *(*scope, "--allow-range", "127.0.0.0/8", "--json", "--processes", str(PROCESSES), *words),
        stdout=PIPE,
        stderr=PIPE,
        env={**os.environ, "COLUMNS": "200"},
        start_new_session=True,
    )


async def end(process: Process) -> tuple[int | None, dict[str, object]]:
    output, errors = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode in (0, 130), errors.decode()
    return process.returncode, json.loads(output)


def pages_by_process(folder: Path) -> list[list[str]]:
    return [
        [
            record.url
            for record in records_in(folder / "spool" / f"shared.{number}of{PROCESSES}")
            if isinstance(record, PageSeen)
        ]
        for number in range(1, PROCESSES + 1)
    ]


def check_complete(folder: Path, world: Web) -> None:
    """Every page in exactly one package, from the process that owns its address; no post left lying."""
    found = pages_by_process(folder)
    assert sorted(url for urls in found for url in urls) == sorted(world.pages())
    for number, urls in enumerate(found):
        assert urls
        assert {owner_of(urlsplit(url).hostname or "", PROCESSES) for url in urls} == {number}
    assert list((folder / "parcels").rglob("*.parcel")) == []


def test_sites_are_divided_by_address_and_links_find_their_owner(tmp_path: Path) -> None:
    async def story() -> None:
        async with web() as world:
            code, summary = await end(await start(tmp_path, world.port))
            assert code == 0
            assert (summary["pages"], summary["known"], summary["pending"]) == (
                len(world.pages()),
                len(world.pages()),
                0,
            )
            assert summary["sites"] == len(ADDRESSES)
            pages = [url for url in world.asked() if not url.endswith("robots.txt")]
            assert sorted(pages) == sorted(world.pages())
            check_complete(tmp_path, world)

    asyncio.run(story())


def test_ctrl_c_stops_all_and_the_limit_of_pages_holds_for_all_together(tmp_path: Path) -> None:
    async def story() -> None:
        async with web() as world:
            process = await start(tmp_path, world.port, rate=30)
            while len(world.asked()) < 20:
                await asyncio.sleep(0.005)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does
            code, first = await end(process)
            assert (code, first["interrupted"]) == (130, True)
            more = int(str(first["pages"])) + 10
            code, second = await end(await start(tmp_path, world.port, "--pages", str(more)))
            assert (code, second["pages"]) == (0, more)
            code, _ = await end(await start(tmp_path, world.port))
            assert code == 0
            check_complete(tmp_path, world)

    asyncio.run(story())


@pytest.mark.slow
def test_killed_at_random_moments_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    moments = random.Random(20_261_117)

    async def story() -> None:
        async with web() as world:
            for _ in range(4):
                process = await start(tmp_path, world.port, rate=100)
                goal = len(world.asked()) + moments.randint(2, 30)
                async with asyncio.timeout(60):
                    while len(world.asked()) < goal and process.returncode is None:
                        await asyncio.sleep(0.002)
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                await process.communicate()
            assert (await end(await start(tmp_path, world.port)))[0] == 0
            check_complete(tmp_path, world)

    asyncio.run(story())


def test_another_number_of_processes_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with web() as world:
            await end(await start(tmp_path, world.port, "--pages", "3"))
            process = await start(tmp_path, world.port, "--processes", "3")
            _, errors = await asyncio.wait_for(process.communicate(), 60)
            assert process.returncode == 3
            assert b"started with --processes 2" in errors

    asyncio.run(story())


def test_a_robots_txt_that_is_redirected_to_an_address_of_another_process_is_read(
    tmp_path: Path,
) -> None:
    ours = ADDRESSES[0]
    other = next(
        address for address in ADDRESSES if owner_of(address, PROCESSES) != owner_of(ours, PROCESSES)
    )

    async def story() -> None:
        def pages(asked: Asked) -> Answer:
            if asked.path == "/robots.txt":
                return Answer(status=301, headers={"Location": f"http://{other}:{site.port}/robots.txt"})
            return html("/private", "/open") if asked.path == "/0" else html()

        rules = {"/robots.txt": Answer(b"User-agent: *\nDisallow: /private")}
        async with (
            LocalSite(pages).serving(ours) as site,
            LocalSite(rules).serving(other, site.port) as elsewhere,
        ):
            await end(await start(tmp_path, site.port, "--depth", "1"))
        assert site.paths() == ["/robots.txt", "/0", "/open"]
        assert elsewhere.paths() == ["/robots.txt"]

    asyncio.run(story())
