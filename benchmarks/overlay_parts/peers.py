"""A job -> a process of live peers, which runs until it is killed.

Processes are forked, so that many of them start in the time that one takes to import the program.
"""

from __future__ import annotations

import asyncio
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from random import Random

import msgspec

from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.host.settings import HostSettings
from ipmicra.model.zones import SpacePoint, ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.node import Node
from ipmicra.overlay.settings import OverlaySettings
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from ipmicra.settings import Settings, load_settings

SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
SECRET = b"a benchmark has no secrets"
JOINS_APART_SECONDS = 0.2


class Job(msgspec.Struct, frozen=True):
    """Some peers of one process; with a folder and name servers they crawl."""

    via: str
    ports: tuple[int, ...]
    starts_after_s: float
    folder: str = ""
    names_port: int = 0


def started(job: Job) -> ForkProcess:
    """Before this process has an event loop."""
    process = get_context("fork").Process(target=_run, args=(job,), daemon=True)
    process.start()
    return process


def _run(job: Job) -> None:
    asyncio.run(_serve(job))


def address_at(port: int) -> str:
    return f"127.0.0.1:{port}"


def point_of(port: int) -> SpacePoint:
    """Drawn by port, so that everyone knows where a peer stands."""
    return random_point(Random(port))


def random_point(dice: Random) -> SpacePoint:
    return tuple(dice.uniform(low, high) for low, high in zip(SPACE.low, SPACE.high, strict=True))


def settings_with(names_port: int) -> Settings:
    """The settings of a peer that crawls a web on loopback, fast."""
    settings, _ = load_settings(None, {})
    manners = {
        "delay_seconds_min": 0.05,
        "response_time_factor": 1.0,
        "package_seconds_max": 2.0,
        "contact": "benchmark@example.org",
    }
    fetching = msgspec.structs.replace(
        settings.fetching, open_ranges=("127.0.0.0/8",), dns_servers=(f"127.0.0.1:{names_port}",)
    )
    return msgspec.structs.replace(
        settings,
        crawler=msgspec.convert(manners, CrawlerSettings),
        fetching=fetching,
        host=HostSettings(cpu_share_max=64),
        overlay=OverlaySettings(follow_links=False),
    )


def _node(job: Job, port: int) -> Node:
    address, codec = address_at(port), FrameCodec(SECRET)
    descriptor = PeerDescriptor(PeerId(f"peer-{port}"), point_of(port), (), address=address)
    peer = Peer(descriptor, SPACE, PeerRules(hand_over=HandOverRule()))
    if not job.folder:
        return Node(peer, SPACE, codec)
    crawl_service = PeerCrawlService(
        Path(job.folder) / str(port), peer, codec, settings_with(job.names_port).peer
    )
    return Node(peer, SPACE, codec, crawl_service.round_trip_ms, crawl_service)


async def _serve(job: Job) -> None:
    await asyncio.sleep(job.starts_after_s)
    async with asyncio.TaskGroup() as tasks:
        for port in job.ports:
            via = None if address_at(port) == job.via else job.via
            tasks.create_task(_node(job, port).run(via))
            await asyncio.sleep(JOINS_APART_SECONDS)
