"""The agent's process in a crawler's namespace: commands in, results out, many at a time.

    python -m ipmicra.lab.box.agents.process SOCKET NAMES_ADDRESS

SOCKET is an inherited descriptor; messages are MessagePack with their length before them. It ends when the
socket is closed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from ipmicra.crawler.crawl import Crawl, CrawlRequest, fetcher_for, tune_process
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.fetching.settings import FetchingSettings
from ipmicra.crawler.frontier import DiscoveredUrl
from ipmicra.crawler.settings import CrawlerSettings, CrawlSettings
from ipmicra.lab.box.agents.framing import READY, read_frame, write_frame
from ipmicra.lab.box.agents.messages import (
    AgentCommand,
    AgentResult,
    CommandResult,
    CrawlCommand,
    Crawled,
    DownloadCommand,
    Downloaded,
    Numbered,
    ProbeCommand,
    ProbedRoundTrips,
)
from ipmicra.model.fetches import Fetched, FetchRequest
from ipmicra.net.address_guard import AddressGuard
from ipmicra.probing.prober import Prober
from ipmicra.probing.settings import ProbingSettings

# The box has no real sites, and pauses between requests would be measured instead of round trips.
CRAWLER = CrawlerSettings(
    contact="box@example.org",
    delay_seconds_min=0.0,
    response_time_factor=0.0,
    retry_seconds=0.5,
    patience_seconds=5.0,
)
HTTP = 80


class Agent:
    """Executes commands in its namespace. `fetcher` keeps no connection: each fetch makes a new one."""

    def __init__(self, names_address: str) -> None:
        self._fetching = FetchingSettings(dns_servers=(f"{names_address}:53",), dns_failure_seconds=1)
        self.fetcher = fetcher_for(
            CRAWLER, msgspec.structs.replace(self._fetching, idle_connections_max=0)
        )
        self._prober = Prober(ProbingSettings(), AddressGuard(), fetcher=self.fetcher)

    async def fulfil(self, wish: AgentCommand) -> AgentResult:
        if isinstance(wish, ProbeCommand):
            return await self._probe(wish)
        return await (self._download(wish) if isinstance(wish, DownloadCommand) else self._crawl(wish))

    async def _probe(self, wish: ProbeCommand) -> ProbedRoundTrips:
        address = ipaddress.ip_address(wish.address)
        found = await self._prober.probe_with(wish.way, address, HTTP, wish.site)
        return ProbedRoundTrips(round_trip_ms=found.round_trip_ms, silence=found.silence)

    async def _download(self, wish: DownloadCommand) -> Downloaded:
        began = time.monotonic()
        outcome = await self.fetcher.fetch(FetchRequest(url=wish.url))
        took_ms = (time.monotonic() - began) * 1e3
        if not isinstance(outcome, Fetched):
            return Downloaded(download_ms=None, detail=outcome.detail)
        took_ms -= outcome.timings.dns_ms or 0.0
        return Downloaded(download_ms=took_ms, round_trip_ms=outcome.timings.round_trip_ms)

    async def _crawl(self, wish: CrawlCommand) -> Crawled:
        """Timed from the first request's making to the last page's commit."""
        settings = CrawlSettings(
            data_folder=Path(wish.folder),
            crawler=msgspec.structs.replace(CRAWLER, sites_open_max=wish.at_once),
            fetching=self._fetching,
        )
        crawl = Crawl(settings, CrawlRequest(seeds=tuple(f"http://{site}/" for site in wish.sites)))
        with crawl.open_stores() as (frontier, spool):
            async with fetcher_for(settings.crawler, settings.fetching) as fetcher:
                engine = Engine(crawl.plan, frontier, spool, fetcher)
                began = time.monotonic()
                progress = await engine.run([DiscoveredUrl(seed, 0, 0) for seed in crawl.seeds])
                seconds = time.monotonic() - began
        packages = crawl.spool_folder.rglob("*")
        return Crawled(
            seconds=seconds,
            pages=progress.pages,
            failures=dict(progress.failures),
            bytes_on_wire=progress.bytes_on_wire,
            package_bytes=sum(path.stat().st_size for path in packages if path.is_file()),
        )


async def run(plug: socket.socket, names_address: str) -> None:
    reader, writer = await asyncio.open_connection(sock=plug)
    agent = Agent(names_address)
    write_frame(writer, READY)

    async def answer(asked: Numbered) -> None:
        write_frame(
            writer, msgspec.msgpack.encode(CommandResult(asked.number, await agent.fulfil(asked.wish)))
        )
        await writer.drain()

    async with agent.fetcher, asyncio.TaskGroup() as tasks:
        while (frame := await read_frame(reader)) is not None:
            tasks.create_task(answer(msgspec.msgpack.decode(frame, type=Numbered)))


def main(arguments: list[str]) -> None:
    tune_process()
    uvloop.run(run(socket.socket(fileno=int(arguments[0])), arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
