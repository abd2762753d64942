"""No coordinator: the overlay's peers in the same world, the crawler of each site, and the effect of dead
peers.

Peers are `ipmicra overlay` processes in the crawlers' namespaces; zones, gossip and take-overs go over
real TCP with real delays. The peers decide which of them crawls a site; the engine then crawls it there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from ipmicra.errors import HostFault
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.processes.overlay_peers import Peers, named
from ipmicra.lab.box.trial.crawl_run import crawl_all
from ipmicra.lab.box.trial.delegation_run import (
    BoxDelegator,
    DelegatedSites,
    excess_ms,
    strategy_in,
)
from ipmicra.lab.box.trial.harness import BoxHarness
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, altered
from ipmicra.lab.findings import (
    STRATEGY,
    Findings,
    FindingsColumn,
    FindingsRow,
    Plot,
    Series,
    Tabulated,
    prose,
)
from ipmicra.lab.registry_tree import opened_tree
from ipmicra.lab.simulation.metrics import NEAR_MS

TITLE = "The overlay: no coordinator, and peers that die"
PAPER = """
The CAN-on-NC paper divides a space of network coordinates among the crawlers and gives each site to the
crawler whose zone holds it. Its figures are simulated: they count sites in the right zone, hops and loads,
and no page is crawled. The pages on the overlay's schemes and churn have them beside ours.
"""

WANTED = WorldRequest(crawlers=12, sites=60, pages=2, page_bytes=6_000)
QUICK = WorldRequest(crawlers=4, sites=6, pages=1, page_bytes=2_000)
DYING_SHARE = 0.25
ROOM = 1.0  # half a side of the space, as a multiple of the longest round trip
PATIENCE_S = 180.0
LOOK_S = 1.0
CENTRAL = ("random", "adaptive", "brute-force")
OVERLAY, AFTER_DEATHS = "overlay", "overlay, a quarter died"
COLUMNS = [
    STRATEGY,
    FindingsColumn("one by one s", "busy_s", ".1f"),
    FindingsColumn("until all done s", "wall_s", ".1f"),
    FindingsColumn("probes", "probes", ".2f"),
    FindingsColumn("nearest", "nearest", ".0%"),
    FindingsColumn("<5 ms", "near", ".0%"),
    FindingsColumn("excess ms", "excess_ms", ".1f"),
    FindingsColumn("settled after s", "settled_s", ".1f"),
]


class OverlayClaimSetup(NamedTuple):
    world: BoxWorld
    agents: Agents
    peers: Peers
    folder: Path


def run(harness: BoxHarness) -> Findings:
    world = harness.world(WANTED, QUICK)
    crawlers = tuple(msgspec.structs.replace(crawler, nat=False) for crawler in world.file.crawlers)
    world = altered(world, crawlers=crawlers)
    with harness.staged(world) as (box, folder), box.coordinator.inside():
        rows = asyncio.run(_play(harness, world, box, folder))
    return harness.findings(
        "overlay",
        tables=[Tabulated("The same sites with and without a coordinator", COLUMNS, rows)],
        plots=[_plot(rows)],
        verdict=_verdict({str(row["strategy"]): row for row in rows}),
    )


async def _play(
    harness: BoxHarness, world: BoxWorld, box: NetworkBox, folder: Path
) -> list[FindingsRow]:
    async with Agents(box, folder) as agents:
        rows = []
        for spec in CENTRAL:
            harness.say(spec)
            strategy = strategy_in(world, spec, opened_tree(harness.data_source.tree_file))
            delegated = await BoxDelegator(world, strategy, agents).delegate_all(world.file.sites)
            rows.append(await _crawl(world, agents, spec, delegated, folder))
        harness.say(OVERLAY)
        peers = Peers(box, folder, ROOM * float(np.nanmax(world.round_trips_ms)))
        try:
            rows += await _without_coordinator(harness, OverlayClaimSetup(world, agents, peers, folder))
        finally:
            peers.close()
    return rows


async def _without_coordinator(harness: BoxHarness, setup: OverlayClaimSetup) -> list[FindingsRow]:
    peers = setup.peers
    peers.start_first()
    await _until(_all_joined(peers))
    peers.start_others()
    await _until(_all_joined(peers))
    began = time.monotonic()
    await peers.submit(setup.world.file.sites)
    rows = [await _settle(setup, OVERLAY, began)]
    dying = peers.alive[:: round(1 / DYING_SHARE)]
    harness.say(AFTER_DEATHS)
    began = time.monotonic()
    for name in dying:
        peers.kill(name)
    rows.append(await _settle(setup, AFTER_DEATHS, began))
    return rows


async def _settle(setup: OverlayClaimSetup, words: str, began: float) -> FindingsRow:
    """When every site has one crawler among the living: how that is."""
    world, agents, peers, folder = setup
    owners: dict[str, list[str]] = {}

    async def every_site_has_one() -> bool:
        owners.clear()
        owners.update(await peers.owners())
        return all(len(owners.get(named(site), [])) == 1 for site in world.file.sites)

    await _until(every_site_has_one)
    settled_s = time.monotonic() - began
    delegated = [DelegatedSites(site, owners[named(site)][0], 0, False) for site in world.file.sites]
    row = await _crawl(world, agents, words, delegated, folder, peers.alive)
    return {**row, "settled_s": settled_s, "probes": "its own"}


def _all_joined(peers: Peers) -> Callable[[], Awaitable[bool]]:
    async def has_joined() -> bool:
        return abs(await peers.zone_coverage() - 1.0) < 1e-6

    return has_joined


async def _until(happened: Callable[[], Awaitable[bool]]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not await happened():
        if time.monotonic() > end:
            raise HostFault(f"in the box, the overlay did not come to rest in {PATIENCE_S} s")
        await asyncio.sleep(LOOK_S)


async def _crawl(
    world: BoxWorld,
    agents: Agents,
    words: str,
    delegated: list[DelegatedSites],
    folder: Path,
    alive: list[str] | None = None,
) -> FindingsRow:
    done = await crawl_all(agents, delegated, 1, folder / words.replace(" ", "-"))
    above_ms = np.array([excess_ms(world, each, alive) for each in delegated])
    return {
        "strategy": words,
        "busy_s": done.busy_s,
        "wall_s": done.wall_s,
        "probes": float(np.mean([each.probes for each in delegated])),
        "nearest": float((above_ms == 0).mean()),
        "near": float((above_ms <= NEAR_MS).mean()),
        "excess_ms": float(above_ms.mean()),
    }


def _plot(rows: list[FindingsRow]) -> Plot:
    bars = Series(
        "crawl", [str(row["strategy"]) for row in rows], [float(row["busy_s"]) for row in rows]
    )
    return Plot("time", "Crawl time with and without a coordinator", "", "s, all crawlers", [bars])


def _verdict(rows: dict[str, FindingsRow]) -> list[str]:
    peers, after, best, ours = (
        rows[name] for name in (OVERLAY, AFTER_DEATHS, "brute-force", "adaptive")
    )
    slower = float(peers["busy_s"]) / float(best["busy_s"])
    return [
        prose(f"""Without a coordinator, {float(peers["near"]):.0%} of the sites go to a crawler within 5 ms
        of the nearest, {float(peers["excess_ms"]):.1f} ms too far on average; the coordinator's adaptive
        strategy reaches {float(ours["near"]):.0%} for {float(ours["probes"]):.1f} probes per site. The crawl
        takes {slower:.2f} times the optimum's time. Peers find their own places and the sites' by timing
        each other and them, and a home goes on asking those near by for a while; the row is of the moment
        when every site had its crawler."""),
        prose(f"""When a quarter of the peers were killed at once, every site had one living crawler again
        after {float(after["settled_s"]):.0f} s, {float(after["near"]):.0%} of them within 5 ms of the nearest
        that lives. No site was lost."""),
    ]
