"""One continent has most of the sites: do capacities hold, and what does that cost against the optimum?

Every crawler may hold a quarter more than an even share of the sites. Sites are delegated by real probes,
then each balancing policy relieves overfull crawlers, with its own probes if it wants them; then
the sites are crawled, one connection at a time.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np

from ipmicra.delegation.balancing.assignment_lp import cheapest_owners
from ipmicra.delegation.balancing.estimates import TriangleEstimator
from ipmicra.delegation.balancing.loads import Loads
from ipmicra.delegation.balancing.policies import POLICIES
from ipmicra.delegation.balancing.snapshot import UnitLoad, balanced
from ipmicra.delegation.delegations import DelegationUnit
from ipmicra.delegation.strategy import Strategy
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.trial.claim_setup import ClaimSetup
from ipmicra.lab.box.trial.crawl_run import crawl_all
from ipmicra.lab.box.trial.delegation_run import BoxDelegator, DelegatedSites, strategy_in
from ipmicra.lab.box.trial.harness import BoxHarness
from ipmicra.lab.box.trial.mutual_round_trips import mutual_ms
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, altered
from ipmicra.lab.findings import (
    Findings,
    FindingsColumn,
    FindingsRow,
    Plot,
    Series,
    Tabulated,
    prose,
)
from ipmicra.lab.registry_tree import opened_tree
from ipmicra.lab.world import Milliseconds
from ipmicra.model.ids import CrawlerId

TITLE = "Balancing: one continent has most of the sites"
PAPER = """
The IPMicra papers (4.4, and III.F of the later one) relieve an overloaded crawler of the subnet whose
probing results vary least, and hand it to its next-best crawler; that is said to be the best decision in
more than two thirds of the cases. Nothing is crawled under it.
"""

WANTED = WorldRequest(crawlers=6, sites=200, pages=2, page_bytes=6_000)
QUICK = WorldRequest(crawlers=3, sites=30, pages=1, page_bytes=2_000)
KEPT, QUICK_KEPT = 60, 10  # sites that are crawled
CROWDED_SHARE = 0.7  # of them are on the continent that has most
ROOM = 1.25  # a crawler's capacity, as a multiple of an even share
STRATEGY = "adaptive"
UNBALANCED, OPTIMUM = "nearest, unbalanced", "the optimum within capacities"
TRIED = ("variance", "next-best", "assign-and-probe")
COLUMNS = [
    FindingsColumn("policy", "policy"),
    FindingsColumn("fullest", "fullest", ".0%"),
    FindingsColumn("round trip ms", "round_trip_ms", ".1f"),
    FindingsColumn("of the optimum", "of_optimum", ".2f"),
    FindingsColumn("probes for it", "probes", ".0f"),
    FindingsColumn("moves", "moves", ".0f"),
    FindingsColumn("one by one s", "busy_s", ".1f"),
    FindingsColumn("until all done s", "wall_s", ".1f"),
]


def _capacity(setup: ClaimSetup) -> float:
    """Of each crawler, in sites: each site counts as one."""
    return math.ceil(ROOM * len(setup.world.file.sites) / len(setup.world.file.crawlers))


def run(harness: BoxHarness) -> Findings:
    world = _crowded(harness.world(WANTED, QUICK), QUICK_KEPT if harness.quick else KEPT)
    with harness.staged(world) as (box, folder):
        rows = asyncio.run(_play(harness, world, box, folder))
    best_ms = float(rows[-1]["round_trip_ms"])
    for row in rows:
        row["of_optimum"] = float(row["round_trip_ms"]) / best_ms
    return harness.findings(
        "balancing",
        tables=[Tabulated("The same sites, nearest first and then relieved", COLUMNS, rows)],
        plots=_plots(rows),
        verdict=_verdict({str(row["policy"]): row for row in rows}),
    )


def _crowded(world: BoxWorld, count: int) -> BoxWorld:
    """Most sites on one continent. Crawlers admit pings, so that they can measure each other."""
    continents = {place.name: place.continent for place in world.file.places}
    of_site = {site.name: continents[site.stands[0].places[0]] for site in world.file.sites}
    crowded, _ = Counter(of_site.values()).most_common(1)[0]
    there = [site for site in world.file.sites if of_site[site.name] == crowded]
    elsewhere = [site for site in world.file.sites if of_site[site.name] != crowded]
    most = there[: round(CROWDED_SHARE * count)]
    sites = (*most, *elsewhere[: count - len(most)])
    crawlers = tuple(msgspec.structs.replace(crawler, nat=False) for crawler in world.file.crawlers)
    return altered(world, sites=sites, crawlers=crawlers)


async def _play(
    harness: BoxHarness, world: BoxWorld, box: NetworkBox, folder: Path
) -> list[FindingsRow]:
    async with Agents(box, folder) as agents:
        setup = ClaimSetup(world, opened_tree(harness.data_source.tree_file), agents, folder)
        rows = []
        for policy in (UNBALANCED, *TRIED):
            harness.say(policy)
            rows.append(await _row(setup, policy))
        harness.say(OPTIMUM)
        rows.append(await _crawl(setup, OPTIMUM, _optimum(setup)))
    return rows


async def _row(setup: ClaimSetup, policy: str) -> FindingsRow:
    strategy = strategy_in(setup.world, STRATEGY, setup.tree, _capacity(setup))
    delegator = BoxDelegator(setup.world, strategy, setup.agents)
    await _measure_each_other(setup, strategy)
    await delegator.delegate_all(setup.world.file.sites)
    probes = moves = 0
    if policy != UNBALANCED:
        talk = balanced(
            strategy, _weighed(setup, strategy, delegator), POLICIES[policy], time.monotonic()
        )
        moved, asked = await delegator.converse(talk)
        probes, moves = len(asked), len(moved)
    owners = [strategy.owner_of(delegator.target(site)) for site in setup.world.file.sites]
    row = await _crawl(setup, policy, [str(owner) for owner in owners])
    return {**row, "probes": float(probes), "moves": float(moves)}


async def _measure_each_other(setup: ClaimSetup, strategy: Strategy) -> None:
    names = [CrawlerId(crawler.name) for crawler in setup.world.file.crawlers]
    min_sum_ms = await mutual_ms(setup.world, setup.agents)
    for here, one in enumerate(names):
        for there, other in enumerate(names[:here]):
            strategy.on_crawlers_measured(one, other, float(min_sum_ms[here, there]))


def _weighed(
    setup: ClaimSetup, strategy: Strategy, delegator: BoxDelegator
) -> dict[DelegationUnit, UnitLoad]:
    """Each unit with as many sites as lie in it."""
    found: dict[DelegationUnit, UnitLoad] = {}
    for site in setup.world.file.sites:
        target = delegator.target(site)
        unit = strategy.unit_of(target)
        before = found.get(unit)
        found[unit] = UnitLoad(1.0 + (before.bytes_a_day if before else 0.0), target)
    return found


def _truth(setup: ClaimSetup) -> Milliseconds:
    crawlers = setup.world.file.crawlers
    return np.array(
        [
            [setup.world.crawler_to_site_ms(one, site) for one in crawlers]
            for site in setup.world.file.sites
        ]
    )


def _optimum(setup: ClaimSetup) -> list[str]:
    """The cheapest owners by the truth, site by site."""
    true_ms, names = _truth(setup), [crawler.name for crawler in setup.world.file.crawlers]
    count = len(true_ms)
    loads = Loads(
        known_ms=true_ms,
        belief=TriangleEstimator(np.zeros((len(names), len(names)))),
        bytes_a_day=np.ones(count),
        capacity_bytes_a_day=np.full(len(names), _capacity(setup)),
        owner=true_ms.argmin(axis=1),
    )
    return [names[owner] for owner in cheapest_owners(true_ms, loads)]


async def _crawl(setup: ClaimSetup, policy: str, owners: list[str]) -> FindingsRow:
    sites, crawlers = setup.world.file.sites, setup.world.file.crawlers
    delegated = [
        DelegatedSites(site, owner, 0, False) for site, owner in zip(sites, owners, strict=True)
    ]
    done = await crawl_all(setup.agents, delegated, 1, setup.folder / policy.replace(" ", "-"))
    numbers = {crawler.name: number for number, crawler in enumerate(crawlers)}
    chosen = [numbers[owner] for owner in owners]
    return {
        "policy": policy,
        "fullest": max(Counter(owners).values()) / _capacity(setup),
        "round_trip_ms": float(_truth(setup)[np.arange(len(sites)), chosen].mean()),
        "busy_s": done.busy_s,
        "wall_s": done.wall_s,
    }


def _plots(rows: list[FindingsRow]) -> list[Plot]:
    names = [str(row["policy"]) for row in rows]

    def series(label: str, key: str) -> Series:
        return Series(label, names, [float(row[key]) for row in rows])

    times = [series("one by one", "busy_s"), series("until all done", "wall_s")]
    return [
        Plot("times", "Crawl time under balancing", "", "s", times),
        Plot("fullest", "The fullest crawler", "", "of its capacity", [series("fullest", "fullest")]),
    ]


def _verdict(rows: dict[str, FindingsRow]) -> list[str]:
    before, ours, papers = rows[UNBALANCED], rows["assign-and-probe"], rows["variance"]
    held = [name for name in TRIED if float(rows[name]["fullest"]) <= 1]
    kept = "hold" if len(held) == len(TRIED) else f"hold only under {', '.join(held) or 'no policy'}"
    sooner = float(ours["wall_s"]) < float(before["wall_s"])
    bought = "the evener share buys time" if sooner else "the evener share does not make up for it"
    return [
        prose(f"""Unbalanced, the fullest crawler has {float(before["fullest"]):.0%} of its capacity; the
        capacities {kept} after balancing. In round trips the papers' variance rule comes to
        {float(papers["of_optimum"]):.2f} times the optimum within capacities, assigning with probes to
        {float(ours["of_optimum"]):.2f} times, for {float(ours["probes"]):.0f} probes."""),
        prose(f"""Balance costs distance: all crawlers together are busy for {float(before["busy_s"]):.1f} s
        unbalanced and for {float(ours["busy_s"]):.1f} s with assign-and-probe. One by one, the last of them
        is done after {float(before["wall_s"]):.1f} and after {float(ours["wall_s"]):.1f} s: {bought}."""),
    ]
