"""Several live peers: `python -m tests.overlay.peers_process VIA PORT...`; prints "ready" when all listen.

The points are drawn from the ports, so that every process places its peers alike; intervals are short.
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
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
    gossip_every_s=1.0, dead_after_s=4.0, claim_step_s=0.5, announce_every_s=2.0, lease_s=6.0
)


def node_at(port: int) -> Node:
    point = random_point(Random(port), SPACE)
    descriptor = PeerDescriptor(PeerId(f"peer-{port}"), point, (), address=f"127.0.0.1:{port}")
    return Node(Peer(descriptor, SPACE, RULES), SPACE, FrameCodec(SECRET))


async def serve(via: str, ports: list[int]) -> None:
    waiting = set(ports)

    def listening(port: int) -> None:
        waiting.discard(port)
        if not waiting:
            sys.stdout.write("ready\n")
            sys.stdout.flush()

    async with asyncio.TaskGroup() as tasks:
        for port in ports:
            address = f"127.0.0.1:{port}"
            node, ready = node_at(port), partial(listening, port)
            tasks.create_task(node.run(None if address == via else via, ready))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], [int(port) for port in sys.argv[2:]]))
