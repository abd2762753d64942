"""Routes change during a crawl: how long until delegations are right again, and what does it cost?

Every crawler fetches from its sites in rounds, as a crawl does, with jitter on the wires. After some rounds
the routes from the crawler with most sites to half of them grow by 250 ms; later they heal. The product's
own calibration judges the kernel's round trips of ordinary fetches, and has probes made only where it doubts.
Then the sites of one organisation that stands beside every crawler are delegated, from nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from ipmicra.delegation.calibration import CalibrationSettings
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.trial.delegation_run import strategy_in
from ipmicra.lab.box.trial.harness import BoxHarness
from ipmicra.lab.box.trial.organisation import Understood, measure_understanding, sites_of_one
from ipmicra.lab.box.trial.rounds import PlayedRound, Rounds, RouteChange, is_everywhere
from ipmicra.lab.box.world.box_world import BoxFault, BoxSite, BoxWorld, Stand
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

TITLE = "Calibration: routes change during the crawl"
PAPER = """
The IPMicra papers (4.4; the later one, III.F) compare the time of each crawl with the subnet's history and
delegate anew where it has become much slower. They describe it and do not measure it; thresholds are left to
the administrator.
"""

WANTED = WorldRequest(crawlers=6, sites=40, pages=1, jitter_ms=3.0)
QUICK = WorldRequest(crawlers=3, sites=8, pages=1, jitter_ms=1.0)
STRATEGY = "adaptive"
SETTINGS = CalibrationSettings(rest_s=5.0)  # seconds for an hour: the box's crawl lasts a minute
ADDED_MS = 250.0
CDN, ANYCAST = "cdn.example", "anycast.example"
BEFORE, CHANGED, HEALED = "before", "routes changed", "healed"
ROUNDS = {BEFORE: 5, CHANGED: 10, HEALED: 6}
COLUMNS = [
    FindingsColumn("routes", "phase"),
    FindingsColumn("rounds", "rounds", ".0f"),
    FindingsColumn("fetches", "fetches", ".0f"),
    FindingsColumn("looks", "looks", ".0f"),
    FindingsColumn("probes", "probes", ".0f"),
    FindingsColumn("moves", "moves", ".0f"),
    FindingsColumn("of CDN or anycast", "fooled", ".0f"),
    FindingsColumn("wrong at first", "wrong_first", ".0%"),
    FindingsColumn("wrong at last", "wrong_last", ".0%"),
]
PAPERS = "ipmicra@50"
BRANCHES_A_PLACE, QUICK_BRANCHES_A_PLACE = 6, 2
BRANCH_COLUMNS = [
    FindingsColumn("strategy", "strategy"),
    FindingsColumn("sites", "sites", ".0f"),
    FindingsColumn("probes per site", "probes", ".2f"),
    FindingsColumn("<5 ms", "near", ".0%"),
    FindingsColumn("excess ms", "excess_ms", ".1f"),
]


def run(harness: BoxHarness) -> Findings:
    world = _with_many_places(harness.world(WANTED, QUICK))
    places = [crawler.place for crawler in world.file.crawlers]
    branches = sites_of_one(places, QUICK_BRANCHES_A_PLACE if harness.quick else BRANCHES_A_PLACE)
    with harness.staged(altered(world, sites=(*world.file.sites, *branches))) as (box, folder):
        found, branch_rows = asyncio.run(_play(harness, world, box, folder, branches))
    rows = [_row(phase, played) for phase, played in zip(ROUNDS, found, strict=True)]
    wrong = [played.wrong for played in found]
    return harness.findings(
        "calibration",
        tables=[
            Tabulated("What calibration saw and did", COLUMNS, rows),
            Tabulated("One organisation with sites beside every crawler", BRANCH_COLUMNS, branch_rows),
        ],
        plots=[_plot(wrong)],
        verdict=[*_verdict(rows, wrong), _of_the_organisation(branch_rows)],
    )


def _with_many_places(world: BoxWorld) -> BoxWorld:
    """The world with a CDN (a stand beside every crawler) and an anycast address (in all those places)."""
    places = tuple(crawler.place for crawler in world.file.crawlers)
    stands = tuple(
        Stand(places=(place,), addresses=(f"60.0.{number}.1",)) for number, place in enumerate(places)
    )
    cdn = BoxSite(name=CDN, stands=stands, pages=1)
    anycast = BoxSite(name=ANYCAST, stands=(Stand(places=places, addresses=("61.0.0.1",)),), pages=1)
    return altered(world, sites=(*world.file.sites, cdn, anycast))


async def _play(
    harness: BoxHarness, world: BoxWorld, box: NetworkBox, folder: Path, branches: tuple[BoxSite, ...]
) -> tuple[list[PlayedRound], list[FindingsRow]]:
    async with Agents(box, folder) as agents:
        strategy = strategy_in(world, STRATEGY, opened_tree(harness.data_source.tree_file))
        rounds = Rounds(world, strategy, agents, SETTINGS)
        await rounds.begin()
        found = []
        for phase, count in ROUNDS.items():
            harness.say(phase)
            _change(rounds, box, phase)
            found.append(await rounds.play(count))
        harness.say("one organisation in many places")
        rows = [
            _branch_row(
                spec, len(branches), await measure_understanding(box.world, agents, spec, branches)
            )
            for spec in (PAPERS, STRATEGY)
        ]
    return found, rows


def _branch_row(spec: str, sites: int, found: Understood) -> FindingsRow:
    return {
        "strategy": spec,
        "sites": float(sites),
        "probes": found.probes_a_site,
        "near": found.near_share,
        "excess_ms": found.excess_ms,
    }


def _row(phase: str, played: PlayedRound) -> FindingsRow:
    spent = {key: float(count) for key, count in played.spent.items()}
    wrong = {"wrong_first": played.wrong[0], "wrong_last": played.wrong[-1]}
    return {"phase": phase, "rounds": float(len(played.wrong)), **spent, **wrong}


def _change(rounds: Rounds, box: NetworkBox, phase: str) -> None:
    if phase == CHANGED:
        rounds.slower = _half_of_the_busiest(rounds)
        others = tuple(sorted(rounds.slower.sites))
        box.inflict(
            BoxFault(
                at_s=0.0,
                kind="slower",
                one=(rounds.slower.crawler,),
                other=others,
                round_trip_ms=ADDED_MS,
            )
        )
    elif phase == HEALED:
        rounds.slower = None
        box.heal()


def _half_of_the_busiest(rounds: Rounds) -> RouteChange:
    sites = [site for site in rounds.world.file.sites if not is_everywhere(site)]
    owners = {site.name: rounds.owner(site) for site in sites}
    busiest, _ = Counter(owners.values()).most_common(1)[0]
    own = [name for name, owner in owners.items() if owner == busiest]
    return RouteChange(busiest, frozenset(own[::2]), ADDED_MS)


def _plot(wrong: list[list[float]]) -> Plot:
    shares = [share for phase in wrong for share in phase]
    line = Series("sites in wrong hands", [float(n) for n in range(1, len(shares) + 1)], shares)
    return Plot("wrong", "Sites that a move would be worth for", "round", "share of sites", [line])


def _verdict(rows: list[FindingsRow], wrong: list[list[float]]) -> list[str]:
    before, changed, healed = rows
    right = next((n for n, share in enumerate(wrong[1], 1) if share <= wrong[0][-1]), None)
    said = "not within the rounds played" if right is None else f"after {right} rounds of fetches"
    fooled = sum(float(row["fooled"]) for row in rows)
    return [
        prose(f"""Before anything changed, {float(before["fetches"]):.0f} fetches with jitter raised
        {float(before["looks"]):.0f} alarms and {float(before["moves"]):.0f} moves. When routes changed,
        delegations were as right as before {said} ({SETTINGS.repeats} slow fetches in a row raise the alarm),
        for {float(changed["probes"]):.0f} probes and {float(changed["moves"]):.0f} moves. The CDN and the
        anycast address were moved {fooled:.0f} times."""),
        prose(f"""When routes heal, nobody is slow, so nobody is looked at: {float(healed["wrong_last"]):.0%}
        of the sites stay where they went, farther than need be. Alarms come from times that grow; a way back
        comes with the next look at the subnet, with a newcomer, or by balancing. That is the papers' rule
        too. A round here is one fetch from every site; in a crawl it is the pause between two requests."""),
    ]


def _of_the_organisation(rows: list[FindingsRow]) -> str:
    papers, ours = rows
    return prose(f"""An organisation has {float(ours["sites"]):.0f} sites, beside every crawler in turn,
    and one country in the registry for all. IPMicra at 50 ms, which takes an organisation to be in one place,
    brings {float(papers["near"]):.0%} of them to a crawler within 5 ms of the nearest for
    {float(papers["probes"]):.1f} probes per site, {float(papers["excess_ms"]):.0f} ms too far on average.
    Adaptive learns how far an organisation's subnets agree: {float(ours["near"]):.0%} for
    {float(ours["probes"]):.1f} probes, {float(ours["excess_ms"]):.1f} ms too far.""")
