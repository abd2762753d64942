"""A process of several live peers: `python -m tests.overlay.peers_process VIA PORT...`; says "ready" at once.

The points are drawn by port, so that every process places its peers alike; times are short.
"""

from __future__ import annotations

import asyncio
import sys
from random import Random

from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.live.node import Node
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from tests.overlay.network import random_point

SPACE = ZoneBox((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
SECRET = b"only for this test"
RULES = PeerRules(
    hello_every_s=1.0, silent_after_s=4.0, claim_step_s=0.5, announce_every_s=2.0, lease_s=6.0
)


def node_at(port: int) -> Node:
    point = random_point(Random(port), SPACE)
    card = PeerDescriptor(PeerId(f"peer-{port}"), point, (), address=f"127.0.0.1:{port}")
    return Node(Peer(card, SPACE, RULES), SPACE, FrameCodec(SECRET))


async def serve(via: str, ports: list[int]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for port in ports:
            address = f"127.0.0.1:{port}"
            tasks.create_task(node_at(port).run(None if address == via else via))
        sys.stdout.write("ready\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], [int(port) for port in sys.argv[2:]]))
