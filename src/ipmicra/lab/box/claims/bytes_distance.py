"""How far do bytes travel, and how many come home, against one central crawler?

The same sites are crawled from one place, and by crawlers under several delegations. The router counts what
each endpoint sent to each other; a byte's distance is the round trip of the path it took.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from ipmicra.delegation.subnets import SubnetLookup
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.processes.control_channel import RouterReport
from ipmicra.lab.box.trial.crawl_run import CrawlRun, crawl_all
from ipmicra.lab.box.trial.delegation_run import BoxDelegator, DelegatedSites, strategy_in
from ipmicra.lab.box.trial.harness import BoxHarness
from ipmicra.lab.box.world.box_world import BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest
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

TITLE = "Bytes and how far they travel, against a central crawler"
PAPER = """
The papers' aim is that pages travel uncompressed over short distances only, and that what crosses the world
is compressed (UCYMicra, as described in the IPMicra papers). They give no figure for bytes times distance.
"""

WANTED = WorldRequest(crawlers=8, sites=60, pages=4, page_bytes=30_000)
QUICK = WorldRequest(crawlers=2, sites=8, pages=2, page_bytes=10_000)
CENTRAL = "one central crawler"
SPECS = ("hash", "ipmicra@50", "adaptive", "brute-force")
AT_ONCE = 8
COLUMNS = [
    STRATEGY,
    FindingsColumn("MB fetched", "fetched_mb", ".2f"),
    FindingsColumn("MB x s fetched", "fetched_mb_s", ".3f"),
    FindingsColumn("MB home", "home_mb", ".2f"),
    FindingsColumn("MB x s home", "home_mb_s", ".3f"),
    FindingsColumn("together", "all_mb_s", ".3f"),
    FindingsColumn("of central", "of_central", ".0%"),
]


def run(harness: BoxHarness) -> Findings:
    tree = opened_tree(harness.data_source.tree_file)
    world = harness.world(WANTED, QUICK)
    with harness.staged(world) as (box, folder):
        rows = asyncio.run(_play(harness, world, tree, box, folder))
    for row in rows:
        row["of_central"] = float(row["all_mb_s"]) / float(rows[0]["all_mb_s"])
    return harness.findings(
        "bytes-distance",
        tables=[Tabulated("The same pages, crawled from one place and from near by", COLUMNS, rows)],
        plots=[_plot(rows)],
        verdict=_verdict({str(row["strategy"]): row for row in rows}),
    )


async def _play(
    harness: BoxHarness, world: BoxWorld, tree: SubnetLookup, box: NetworkBox, folder: Path
) -> list[FindingsRow]:
    sites = world.file.sites
    rows = []
    async with Agents(box, folder) as agents:

        async def row(spec: str, delegated: Sequence[DelegatedSites]) -> FindingsRow:
            harness.say(spec)
            before = box.report()
            done = await crawl_all(agents, delegated, AT_ONCE, folder / spec.replace(" ", "-"))
            return _row(world, spec, done, before, box.report())

        rows.append(
            await row(CENTRAL, [DelegatedSites(site, Agents.CENTRAL, 0, False) for site in sites])
        )
        for spec in SPECS:
            delegator = BoxDelegator(world, strategy_in(world, spec, tree), agents)
            rows.append(await row(spec, await delegator.delegate_all(sites)))
    return rows


def _row(
    world: BoxWorld, spec: str, done: CrawlRun, before: RouterReport, after: RouterReport
) -> FindingsRow:
    fetched_mb, fetched_mb_s = _from_sites(world, before, after)
    home_mb, home_mb_s = (0.0, 0.0) if spec == CENTRAL else _home(world, done)
    return {
        "strategy": spec,
        "fetched_mb": fetched_mb,
        "fetched_mb_s": fetched_mb_s,
        "home_mb": home_mb,
        "home_mb_s": home_mb_s,
        "all_mb_s": fetched_mb_s + home_mb_s,
    }


def _from_sites(world: BoxWorld, before: RouterReport, after: RouterReport) -> tuple[float, float]:
    """The bytes that the sites sent, headers of packets included, and these bytes times their round
    trips.
    """
    already = {(each.source, each.destination): each.packet_bytes for each in before.sent}
    sites = {site.name: site for site in world.file.sites}
    places = {crawler.name: crawler.place for crawler in world.file.crawlers}
    places[Agents.CENTRAL] = world.file.coordinator.place
    mb, mb_s = 0.0, 0.0
    for each in after.sent:
        if each.source in sites:
            new_mb = (each.packet_bytes - already.get((each.source, each.destination), 0)) / 1e6
            here, there = (places[each.destination],), sites[each.source].stands[0].places
            mb += new_mb
            mb_s += new_mb * world.round_trip_ms(here, there) / 1e3
    return mb, mb_s


def _home(world: BoxWorld, done: CrawlRun) -> tuple[float, float]:
    """The packages as they would be sent, and that times the round trip to the coordinator."""
    places = {crawler.name: (crawler.place,) for crawler in world.file.crawlers}
    home = (world.file.coordinator.place,)
    mb = {name: each.package_bytes / 1e6 for name, each in done.by_crawler.items()}
    return sum(mb.values()), sum(
        size * world.round_trip_ms(places[name], home) / 1e3 for name, size in mb.items()
    )


def _plot(rows: list[FindingsRow]) -> Plot:
    names = [str(row["strategy"]) for row in rows]
    series = [
        Series(words, names, [float(row[key]) for row in rows])
        for words, key in (("pages, uncompressed", "fetched_mb_s"), ("packages home", "home_mb_s"))
    ]
    return Plot("distance", "Bytes times distance", "", "MB x s of round trip", series)


def _verdict(rows: dict[str, FindingsRow]) -> list[str]:
    def of_central(spec: str) -> str:
        return f"{float(rows[spec]['of_central']):.0%}"

    ours, central = rows["adaptive"], rows[CENTRAL]
    home_share = float(ours["home_mb"]) / float(central["fetched_mb"])
    return [
        prose(f"""Bytes times distance, packages home included: adaptive {of_central("adaptive")} of what one
        central crawler carries, IPMicra at 50 ms {of_central("ipmicra@50")}, the optimum
        {of_central("brute-force")}; hashing, which sends each site to somebody anywhere,
        {of_central("hash")}. What comes home is {home_share:.0%} of the bytes that a central crawler
        fetches."""),
        prose("""The sites of the box do not compress their answers, as the papers assumed; where sites do,
        what is fetched shrinks for everybody, and the packages' share rises. The packages hold text and links
        of the pages, and are what `ipmicra host run` would send; their way home is reckoned, not
        travelled."""),
    ]
