"""Peers that crawl a generated web: all in one event loop, each with its own folder, short intervals."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import msgspec

from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.host.settings import HostSettings
from ipmicra.lab.loopback.layout import WebLayout
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from ipmicra.model.search import SearchRequest
from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.node import Node
from ipmicra.overlay.live.rpc_client import submit
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from ipmicra.settings import Settings, load_settings
from tests.coordinator.coordinator_process import free_port
from tests.overlay.network import random_point

SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
SECRET = b"only for this test"
RULES = PeerRules(
    gossip_every_s=1.0,
    dead_after_s=4.0,
    unreachable_after_s=1.5,
    open_face_after_s=2.0,
    claim_step_s=0.5,
    announce_every_s=1.0,
    lease_s=4.0,
    replicate_every_s=2.0,
    hand_over=HandOverRule(),
)

EVERYTHING = SearchRequest(text="lang:en", limit=100, per_site=0)


def settings_with(names_port: int | None) -> Settings:
    settings, _ = load_settings(None, {})
    crawler = {
        "delay_seconds_min": 0.01,
        "response_time_factor": 0.5,
        "retry_seconds": 0.5,
        "package_seconds_max": 0.3,
        "commit_seconds": 0.1,
        "contact": "tester@example.org",
    }
    fetching = msgspec.structs.replace(
        settings.fetching,
        open_ranges=("127.0.0.0/8",),
        dns_servers=(f"127.0.0.1:{names_port}",),
    )
    return msgspec.structs.replace(
        settings,
        crawler=msgspec.convert(crawler, CrawlerSettings),
        fetching=fetching,
        host=HostSettings(cpu_share_max=64),
    )


class OverlayHarness:
    """Several peers, and the web they crawl."""

    def __init__(self, folder: Path, web: LoopbackWeb) -> None:
        self.folder, self.web = folder, web
        self.nodes: dict[str, Node] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    @property
    def urls(self) -> set[str]:
        """The URLs of all pages."""
        return {
            f"http://{site.name}:{self.web.port}{path}"
            for site in self.web.sites.values()
            for path in site.pages
        }

    @property
    def sites(self) -> list[str]:
        return sorted(f"http://{site.name}:{self.web.port}" for site in self.web.sites.values())

    def add(
        self,
        name: str,
        point: SpacePoint,
        via: str | None = None,
        reachable: bool = True,
        reload: Callable[[], Settings] | None = None,
    ) -> Node:
        address = f"127.0.0.1:{free_port()}" if reachable else ""
        peer = Peer(PeerDescriptor(PeerId(name), point, (), address=address), SPACE, RULES)
        codec = FrameCodec(SECRET)
        settings = settings_with(self.web.names_port) if reload is None else reload()
        crawl_service = PeerCrawlService(
            self.folder / name,
            peer,
            codec,
            settings.peer,
            None if reload is None else lambda: reload().peer,
        )
        node = self.nodes[name] = Node(peer, SPACE, codec, crawl_service.round_trip_ms, crawl_service)
        entry = None if via is None else self.nodes[via].peer.descriptor.address
        self._running[name] = asyncio.create_task(self._run(node, crawl_service, entry))
        return node

    async def _run(self, node: Node, crawl_service: PeerCrawlService, via: str | None) -> None:
        try:
            await node.run(via)
        finally:
            await crawl_service.close()

    async def submit_all(self, via: str) -> None:
        dice = Random(1)
        for site in self.sites:
            await submit(site, random_point(dice, SPACE), SPACE, self.address(via), FrameCodec(SECRET))

    async def wait_until_joined(self) -> None:
        await self.wait_until(lambda: all(node.peer.zones for node in self.nodes.values()), 20)

    def crawled(self) -> list[str]:
        """The sites that are being crawled, once for each peer that crawls it."""
        crawl_services = [
            node.crawl_service for node in self.nodes.values() if node.crawl_service is not None
        ]
        return sorted(site for crawl_service in crawl_services for site in crawl_service.held_sites())

    def address(self, name: str) -> str:
        return self.nodes[name].peer.descriptor.address

    async def leave(self, name: str) -> None:
        self.nodes.pop(name).leave()
        await self._running.pop(name)

    async def end(self, name: str) -> None:
        """Stop a peer without leaving the network."""
        del self.nodes[name]
        task = self._running.pop(name)
        task.cancel()
        await asyncio.wait([task])

    def found(self, name: str) -> set[str]:
        """The pages in one peer's index."""
        crawl_service = self.nodes[name].crawl_service
        assert crawl_service is not None
        return {hit.url for hit in crawl_service.packages.search(EVERYTHING).hits}

    def found_anywhere(self) -> set[str]:
        return {url for name in self.nodes for url in self.found(name)}

    def fetched(self) -> list[tuple[str, str]]:
        """The pages that were fetched, once for each fetch."""
        return [
            (line.site, line.path)
            for line in self.web.log
            if line.status == 200 and line.path != "/robots.txt" and line.method == "GET"
        ]

    async def wait_until(self, happened: Callable[[], object], seconds: float) -> None:
        end = time.monotonic() + seconds
        while not happened():
            for task in self._running.values():
                if task.done():
                    task.result()
            assert time.monotonic() < end, f"not in {seconds} s: {len(self.found_anywhere())} pages"
            await asyncio.sleep(0.1)

    async def close(self) -> None:
        for name in list(self.nodes):
            await self.end(name)


@asynccontextmanager
async def overlay_harness(folder: Path, sites: int, pages: int) -> AsyncIterator[OverlayHarness]:
    port, names_port = free_port(), free_port()
    layout = WebLayout.of(made_sites(1, sites, pages, port))
    async with LoopbackWeb(layout.sites, port, names_port=names_port) as web:
        harness = OverlayHarness(folder, web)
        try:
            yield harness
        finally:
            await harness.close()
