"""The open box and its parts, for claims that delegate and crawl."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.world.box_world import BoxWorld


class ClaimSetup(NamedTuple):
    """One box at work: its world, the tree of it, an agent where each crawler stands, a folder for all."""

    world: BoxWorld
    tree: SubnetLookup
    agents: Agents
    folder: Path
