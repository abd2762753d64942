"""What a claim that delegates and crawls has at hand while its box is open."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.world.box_world import BoxWorld


class Scene(NamedTuple):
    """One box at work: its world, the tree of it, an agent where each crawler stands, a folder for all."""

    world: BoxWorld
    tree: SubnetLookup
    agents: Agents
    folder: Path
