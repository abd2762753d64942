"""Peers that crawl, as real processes, a fifth of them killed at once: no page is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from ipmicra.errors import PeerFault
from ipmicra.lab.loopback.layout import WebLayout
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from ipmicra.overlay.live.rpc_client import search, status_of, submit
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_rpc import PeerStatus
from tests.coordinator.coordinator_process import free_port
from tests.overlay.crawling_peers import EVERYTHING, SECRET, SPACE
from tests.overlay.network import random_point

PROCESSES, PEERS_EACH, SITES, PAGES = 5, 2, 8, 4
SECONDS_TO_HEAL = 30.0


@contextmanager
def processes(
    folder: Path, names_port: int, ports: list[int]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    started = []
    try:
        for at in range(0, len(ports), PEERS_EACH):
            arguments = [str(folder), str(names_port), f"127.0.0.1:{ports[0]}"]
            mine = [str(port) for port in ports[at : at + PEERS_EACH]]
            command = [sys.executable, "-m", "tests.overlay.crawling_process", *arguments, *mine]
            started.append(subprocess.Popen(command))
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


async def statuses_of(ports: list[int]) -> list[PeerStatus]:
    """Empty if a peer does not answer (yet)."""
    try:
        return [await status_of(f"127.0.0.1:{port}", FrameCodec(SECRET)) for port in ports]
    except PeerFault:
        return []


async def wait_until(happened: Callable[[], Awaitable[bool]], seconds: float, what: str) -> None:
    end_s = time.monotonic() + seconds
    while not await happened():
        assert time.monotonic() < end_s, f"not in {seconds} s: {what}"
        await asyncio.sleep(0.3)


async def busiest(ports: list[int]) -> int:
    """The process that crawls most sites, except the first, which is queried."""
    crawls = [len(peer.crawled) for peer in await statuses_of(ports)]
    sites = [sum(crawls[at : at + PEERS_EACH]) for at in range(0, len(ports), PEERS_EACH)]
    most = max(range(1, PROCESSES), key=lambda number: sites[number])
    assert sites[most] > 0
    return most


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_fifth_is_killed_and_every_page_is_found_again(tmp_path: Path) -> None:
    asyncio.run(crawled_and_killed(tmp_path))


async def crawled_and_killed(folder: Path) -> None:
    port, names_port = free_port(), free_port()
    ports = [free_port() for _ in range(PROCESSES * PEERS_EACH)]
    layout = WebLayout.of(made_sites(1, SITES, PAGES, port))
    async with LoopbackWeb(layout.sites, port, names_port=names_port) as web:
        with processes(folder, names_port, ports) as started:
            await played(web, ports, started)


async def played(web: LoopbackWeb, ports: list[int], started: list[subprocess.Popen[bytes]]) -> None:
    sites = sorted(f"http://{site.name}:{web.port}" for site in web.sites.values())
    urls = {f"http://{s.name}:{web.port}{path}" for s in web.sites.values() for path in s.pages}
    via, dice = f"127.0.0.1:{ports[0]}", Random(1)

    async def all_are_in() -> bool:
        peers = await statuses_of(ports)
        return bool(peers) and all(peer.descriptor.zones for peer in peers)

    async def every_page_is_found() -> bool:
        found = await search(EVERYTHING, via, FrameCodec(SECRET))
        return {hit.url for hit in found.answer.hits} == urls

    await wait_until(all_are_in, 150, "all peers have zones")  # five interpreters start at once
    for site in sites:
        await submit(site, random_point(dice, SPACE), SPACE, via, FrameCodec(SECRET))
    await wait_until(every_page_is_found, 60, "a search finds every page")

    victim = await busiest(ports)
    started[victim].kill()
    started[victim].wait()
    left = ports[: victim * PEERS_EACH] + ports[(victim + 1) * PEERS_EACH :]

    async def each_has_one_crawler() -> bool:
        crawled = Counter(site for peer in await statuses_of(left) for site in peer.crawled)
        return sorted(crawled.elements()) == sites

    await wait_until(each_has_one_crawler, SECONDS_TO_HEAL, "every site has one living crawler")
    await wait_until(every_page_is_found, 60, "a search finds every page again")
    await wait_until(each_has_one_crawler, 20, "one crawler each, after the last hand-over")
