"""Which probe predicts best the crawler with the fastest download: ping, TCP connect, HEAD, or TCP_INFO?

Every crawler probes every site once by each method, with jitter and with sites that answer late, then
downloads a page from it several times. A method is right if the crawler that it found nearest has the
fastest download.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import numpy as np

from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.trial.harness import BoxHarness
from ipmicra.lab.box.world.box_world import AccessLink, BoxSite, BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, altered
from ipmicra.lab.findings import Cell, Findings, FindingsColumn, Plot, Series, Tabulated, prose
from ipmicra.lab.world import Milliseconds
from ipmicra.probing.settings import ProbeMethod

TITLE = "Which probe predicts the fastest download?"
PAPER = """
The IPMicra paper (4.2) compares probes with real downloads: in 91 % of its experiments with ping, and in
92.5 % with HTTP HEAD, the crawler with the smallest probing time could download the page fastest. The
kernel's own timing of a connection is not among its probes.
"""

WANTED = WorldRequest(crawlers=8, sites=40, pages=2, page_bytes=40_000, jitter_ms=3.0)
QUICK = WorldRequest(crawlers=3, sites=5, pages=1, page_bytes=10_000, jitter_ms=3.0)
DOWNLOADS = 3
SITES_AT_ONCE = 3
SLOW_MBIT = (2.0, 5.0, 10.0, 50.0)  # downlinks of crawlers, in turn, where links differ
THINK_MS = (0.0, 5.0, 20.0, 80.0)  # of sites, in turn
WAYS: dict[str, ProbeMethod] = {
    "ping (ICMP)": "icmp",
    "TCP connect": "connect",
    "HEAD": "answer",
    "TCP_INFO": "head",
}
GOOD_ENOUGH = 1.1  # within a tenth of the fastest

COLUMNS = [
    FindingsColumn("probe", "probe"),
    FindingsColumn("right", "right", ".1%"),
    FindingsColumn("within a tenth", "near", ".1%"),
    FindingsColumn("slower than the fastest", "excess", ".1%"),
]


class DownloadMeasurement(NamedTuple):
    """Of one site, crawler by crawler."""

    probes: dict[str, list[float]]  # by the probe's name
    downloads_ms: list[float]  # the median of several


def run(harness: BoxHarness) -> Findings:
    alike = harness.world(WANTED, QUICK)
    tables, rights = [], {}
    for words, world in (
        ("links alike", _thinking(alike)),
        ("links that differ", _unlike(alike, harness.seed)),
    ):
        harness.say(f"{words}: {len(world.file.sites)} sites from {len(world.file.crawlers)} crawlers")
        with harness.staged(world) as (box, folder):
            rows = _rows(asyncio.run(_measure(world, box, folder)))
        tables.append(Tabulated(f"Access {words}", COLUMNS, rows))
        rights[words] = rows
    return harness.findings(
        "download-prediction",
        tables=tables,
        plots=[_plot(rights)],
        verdict=_verdict(rights),
    )


def _thinking(world: BoxWorld) -> BoxWorld:
    sites = tuple(
        msgspec.structs.replace(site, think_ms=THINK_MS[number % len(THINK_MS)])
        for number, site in enumerate(world.file.sites)
    )
    return altered(world, sites=sites)


def _unlike(world: BoxWorld, seed: int) -> BoxWorld:
    """The same with downlinks of different rates, dealt out by the seed."""
    rates = [SLOW_MBIT[number % len(SLOW_MBIT)] for number in range(len(world.file.crawlers))]
    Random(seed).shuffle(rates)  # noqa: S311 - repeatable, not secret
    crawlers = tuple(
        msgspec.structs.replace(crawler, link=AccessLink(down_mbit=rate, up_mbit=rate))
        for crawler, rate in zip(world.file.crawlers, rates, strict=True)
    )
    return altered(_thinking(world), crawlers=crawlers)


async def _measure(world: BoxWorld, box: NetworkBox, folder: Path) -> list[DownloadMeasurement]:
    room = asyncio.Semaphore(SITES_AT_ONCE)
    async with Agents(box, folder) as agents:

        async def one(site: BoxSite) -> DownloadMeasurement:
            async with room:
                return await _of_site(world, agents, site)

        return list(await asyncio.gather(*(one(site) for site in world.file.sites)))


async def _of_site(world: BoxWorld, agents: Agents, site: BoxSite) -> DownloadMeasurement:
    names = [crawler.name for crawler in world.file.crawlers]
    address = site.stands[0].addresses[0]
    probes: dict[str, list[float]] = {}
    for words, way in WAYS.items():
        found = await asyncio.gather(
            *(agents.probe(name, address, f"http://{site.name}", way) for name in names)
        )
        probes[words] = [np.inf if each.round_trip_ms is None else each.round_trip_ms for each in found]
    times = [await _downloads_ms(agents, names, site) for _ in range(DOWNLOADS)]
    return DownloadMeasurement(probes, np.median(np.array(times), axis=0).tolist())


async def _downloads_ms(agents: Agents, names: list[str], site: BoxSite) -> list[float]:
    found = await asyncio.gather(*(agents.download(name, f"http://{site.name}/") for name in names))
    return [np.inf if each.download_ms is None else each.download_ms for each in found]


def _rows(found: list[DownloadMeasurement]) -> list[dict[str, Cell]]:
    downloads: Milliseconds = np.array([each.downloads_ms for each in found])
    least = downloads.min(axis=1)
    rows: list[dict[str, Cell]] = []
    for words in WAYS:
        chosen = np.array([each.probes[words] for each in found]).argmin(axis=1)
        took = downloads[np.arange(len(found)), chosen]
        rows.append(
            {
                "probe": words,
                "right": float((took == least).mean()),
                "near": float((took <= GOOD_ENOUGH * least).mean()),
                "excess": float((took / least).mean() - 1),
            }
        )
    return rows


def _plot(rows: dict[str, list[dict[str, Cell]]]) -> Plot:
    series = [
        Series(words, list(WAYS), [float(row["right"]) for row in found])
        for words, found in rows.items()
    ]
    return Plot("right", "The probe's nearest downloads fastest", "", "share of sites", series)


def _verdict(rows: dict[str, list[dict[str, Cell]]]) -> list[str]:
    def text(words: str) -> str:
        return ", ".join(f"{row['probe']} {float(row['right']):.0%}" for row in rows[words])

    def near(words: str) -> str:
        return ", ".join(f"{row['probe']} {float(row['near']):.0%}" for row in rows[words])

    return [
        prose(f"""Where the crawlers' links are alike, a single probe is right for {text("links alike")};
        where it is wrong, little is lost (within a tenth of the fastest: {near("links alike")}). The papers'
        91 % and 92.5 % are of the same kind: jitter decides between crawlers about equally near."""),
        prose(f"""Where links differ in rate, no probe of a few bytes sees it: {text("links that differ")}. A
        round trip says who is near, not who has the faster line; how long downloads took says that. HEAD
        carries the site's thinking time, the same for all who ask, and so gains nothing over TCP's own
        timing."""),
    ]
