"""Crawlers that admit pings -> their round trips to each other."""

from __future__ import annotations

import numpy as np

from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.world import Milliseconds


async def mutual_ms(world: BoxWorld, agents: Agents) -> Milliseconds:
    """The crawlers' round trips to each other, by ping; they must not be behind NAT."""
    crawlers = world.file.crawlers
    found = np.zeros((len(crawlers), len(crawlers)))
    for here, one in enumerate(crawlers):
        for there, other in enumerate(crawlers[:here]):
            probed = await agents.probe(one.name, other.addresses[0], "", "icmp")
            found[here, there] = found[there, here] = probed.round_trip_ms or np.nan
    return found
