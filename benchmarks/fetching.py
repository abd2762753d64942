"""How many pages does one core fetch and inflate in a second of its time, nothing else done with them?

The sites, the server and the pages of `benchmarks.crawl`, kept connections, ten a site; against aiohttp, the
client that Python crawlers use most, and httpx. Each client gets every page once, in the same shuffled order.

    python -m benchmarks fetching --pages 2700
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks.crawl_parts.documentation_sites import documentation_sites
from benchmarks.crawl_parts.web_server import PORT, address_of, serving
from ipmicra.crawler.crawl import tune_process
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.fetching.web_fetcher import WebFetcher
from ipmicra.model.fetches import Fetched, FetchRequest

CONNECTIONS = 10
WORKERS = 60
Fetch = Callable[[str], Awaitable[int]]


def main() -> None:
    data = Path(os.environ.get("IPMICRA_DATA", "~/.cache/ipmicra")).expanduser()
    parser = argparse.ArgumentParser("fetching")
    parser.add_argument("--pages", type=int, default=2700)
    parser.add_argument("--cache", type=Path, default=data / "documentation-sites")
    wishes = parser.parse_args()
    tune_process()
    table = Table("client", "pages/CPU-s", "pages/s", "bytes of HTML a page")
    with tempfile.TemporaryDirectory(prefix="ipmicra-fetching-") as folder:
        work = Path(folder)
        work.chmod(0o755)
        sites = documentation_sites(wishes.cache, wishes.pages)
        urls = [
            f"http://{address_of(at)}:{PORT}/{page}"
            for at, site in enumerate(sites)
            for page in site.pages
        ]
        random.Random(1).shuffle(urls)
        with serving(sites, work, core=0):
            os.sched_setaffinity(0, {1})
            for name, client in CLIENTS.items():
                table.add_row(name, *uvloop.run(client(urls)))
    Console().print(table)


async def ours(urls: list[str]) -> list[str]:
    async with WebFetcher(FetchingSettings(open_ranges=("127.0.1.0/24",)), "benchmark") as fetcher:

        async def fetch(url: str) -> int:
            outcome = await fetcher.fetch(FetchRequest(url=url, connections_max=CONNECTIONS))
            assert isinstance(outcome, Fetched), outcome
            return len(outcome.body)

        return await _timed(urls, fetch)


async def with_aiohttp(urls: list[str]) -> list[str]:
    import aiohttp

    connector = aiohttp.TCPConnector(limit_per_host=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def fetch(url: str) -> int:
            async with session.get(url) as response:
                return len(await response.read())

        return await _timed(urls, fetch)


async def with_httpx(urls: list[str]) -> list[str]:
    import httpx

    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=WORKERS)) as client:

        async def fetch(url: str) -> int:
            return len((await client.get(url)).content)

        return await _timed(urls, fetch)


CLIENTS = {"ipmicra": ours, "aiohttp": with_aiohttp, "httpx": with_httpx}


async def _timed(urls: list[str], fetch: Fetch) -> list[str]:
    left, lengths = iter(urls), list[int]()

    async def work() -> None:
        for url in left:
            lengths.append(await fetch(url))

    started_at, cpu_at = time.monotonic(), time.process_time()
    await asyncio.gather(*(work() for _ in range(WORKERS)))
    cpu, wall = time.process_time() - cpu_at, time.monotonic() - started_at
    return [f"{len(urls) / cpu:,.0f}", f"{len(urls) / wall:,.0f}", f"{sum(lengths) // len(urls):,}"]
