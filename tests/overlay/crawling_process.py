"""A process of peers that crawl: `python -m tests.overlay.crawling_process FOLDER NAMES_PORT VIA PORT...`.

Each peer has its own folder and a point drawn from its port. They run until they are killed.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import Random

from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.node import Node
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from tests.overlay.crawling_peers import RULES, SECRET, SPACE, settings_with
from tests.overlay.network import random_point


def node_at(port: int, folder: Path, names_port: int) -> Node:
    point, codec = random_point(Random(port), SPACE), FrameCodec(SECRET)
    descriptor = PeerDescriptor(PeerId(f"peer-{port}"), point, (), address=f"127.0.0.1:{port}")
    peer = Peer(descriptor, SPACE, RULES)
    crawl_service = PeerCrawlService(folder / str(port), peer, codec, settings_with(names_port).peer)
    return Node(peer, SPACE, codec, crawl_service.round_trip_ms, crawl_service)


async def serve(folder: Path, names_port: int, via: str, ports: list[int]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for port in ports:
            address = f"127.0.0.1:{port}"
            running = node_at(port, folder, names_port).run(None if address == via else via)
            tasks.create_task(running)


if __name__ == "__main__":
    place, names, first, *mine = sys.argv[1:]
    asyncio.run(serve(Path(place), int(names), first, [int(port) for port in mine]))
