"""One organisation with addresses in many places -> the crawlers to which its sites are delegated, by
real probes.

The registry says one organisation and one country for all of them, as it does of a cloud. Invariant: the
tree knows nothing else, so a strategy that does well has found the places by probing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ipmicra.addresses import AddressRange
from ipmicra.hierarchy import Allocation, Allocations, SubnetTree, build_tree
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.trial.delegation_run import BoxDelegator, excess_ms, strategy_in
from ipmicra.lab.box.world.box_world import BoxSite, BoxWorld, Stand
from ipmicra.lab.simulation.metrics import NEAR_MS

NETWORK = "62.0.{}"  # one /24 for each site
HANDLE, HEADQUARTERS = "ORG-EVERYWHERE", "US"


class Understood(NamedTuple):
    """How one strategy did on the organisation's sites."""

    probes_a_site: float
    near_share: float
    excess_ms: float


def sites_of_one(places: Sequence[str], a_place: int) -> tuple[BoxSite, ...]:
    """The given number of sites in each place, in turn: neighbours in address space are far from each
    other.
    """
    standing = [place for _ in range(a_place) for place in places]
    return tuple(
        BoxSite(
            name=f"branch-{number:02}.example",
            stands=(Stand(places=(place,), addresses=(f"{NETWORK.format(number)}.1",)),),
            pages=1,
        )
        for number, place in enumerate(standing)
    )


def registered(sites: Sequence[BoxSite]) -> SubnetTree:
    """The registry's records: one network per site, all of one organisation and country."""
    records = Allocations()
    for number in range(len(sites)):
        network = AddressRange.parse(f"{NETWORK.format(number)}.0/24")
        records.append(Allocation(network, handle=HANDLE, name=HANDLE, country=HEADQUARTERS))
    return build_tree(records).tree


async def measure_understanding(
    world: BoxWorld, agents: Agents, spec: str, sites: Sequence[BoxSite]
) -> Understood:
    """Delegate the sites one after the other, from a strategy that knows nothing yet."""
    strategy = strategy_in(world, spec, registered(sites))
    found = await BoxDelegator(world, strategy, agents).delegate_all(sites, at_once=1)
    above_ms = np.array([excess_ms(world, each) for each in found])
    return Understood(
        float(np.mean([each.probes for each in found])),
        float((above_ms <= NEAR_MS).mean()),
        float(above_ms.mean()),
    )
