"""Faults during a crawl: how long until all pages are delivered, which are lost, which are fetched twice?

The whole system runs in the box: `ipmicra coordinator run`, `ipmicra host run` in every crawler's
namespace, tunnels between them, real leases and packages. Each scenario has its own box.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.processes.system import System
from ipmicra.lab.box.session import access_log
from ipmicra.lab.box.trial.harness import BoxHarness
from ipmicra.lab.box.world.box_world import COORDINATOR, BoxFault, BoxWorld
from ipmicra.lab.box.world.generator import WorldRequest, altered
from ipmicra.lab.box.world.web import made_web, urls_of
from ipmicra.lab.findings import (
    Findings,
    FindingsColumn,
    FindingsRow,
    Plot,
    Series,
    Tabulated,
    prose,
)

TITLE = "Faults: what is lost, what is done twice, and how long it takes"
PAPER = """
The papers let a crawler that dies be replaced and its subnets be delegated again, and report no measurement
of it: no time to recover, no count of pages lost or fetched twice.
"""

WANTED = WorldRequest(crawlers=4, sites=16, pages=30, page_bytes=4_000)
QUICK = WorldRequest(crawlers=2, sites=3, pages=8, page_bytes=2_000)
BEFORE_FAULT_SHARE = 0.25  # of all pages are home when it goes wrong
SHORTLY_S, AWAY_S = 6.0, 15.0  # less and more than a lease
LEASE_S = 12.0  # after which a silent host's sites are given to others
LOSS = 0.05
PATIENCE_S = 240.0
SETTINGS = {"coordinator.lease_seconds": f"{LEASE_S}"}
COLUMNS = [
    FindingsColumn("what goes wrong", "story"),
    FindingsColumn("all home after s", "seconds", ".1f"),
    FindingsColumn("later than without", "later_s", ".1f"),
    FindingsColumn("pages", "pages", ".0f"),
    FindingsColumn("lost", "lost", ".0f"),
    FindingsColumn("indexed twice", "indexed_twice", ".0f"),
    FindingsColumn("fetched twice", "fetched_twice", ".0f"),
]

Mishap = Callable[[System, BoxWorld], None]
NOTHING = "nothing"
SHORTLY, FOR_LONG = (f"the coordinator is cut off for {s:g} s" for s in (SHORTLY_S, AWAY_S))


def _nothing(system: System, world: BoxWorld) -> None:
    """The ordinary day."""


def _a_crawler_dies(system: System, world: BoxWorld) -> None:
    system.kill_host(_busiest(system))


def _a_crawler_comes_back(system: System, world: BoxWorld) -> None:
    victim = _busiest(system)
    system.kill_host(victim)
    time.sleep(AWAY_S / 3)
    system.start_host(victim)


def _the_coordinator_is_cut_off_shortly(system: System, world: BoxWorld) -> None:
    system.box.inflict(BoxFault(at_s=0.0, until_s=SHORTLY_S, kind="cut", one=(COORDINATOR,)))


def _the_coordinator_is_cut_off(system: System, world: BoxWorld) -> None:
    system.box.inflict(BoxFault(at_s=0.0, until_s=AWAY_S, kind="cut", one=(COORDINATOR,)))


def _the_coordinator_dies(system: System, world: BoxWorld) -> None:
    system.kill_coordinator()
    time.sleep(AWAY_S / 3)
    system.start_coordinator()


def _a_continent_is_cut_off(system: System, world: BoxWorld) -> None:
    """From everyone else; crawlers and sites on it still reach each other."""
    continents = {place.name: place.continent for place in world.file.places}
    busiest = next(crawler for crawler in world.file.crawlers if crawler.name == _busiest(system))
    continent = continents[busiest.place]
    system.box.inflict(BoxFault(at_s=0.0, until_s=AWAY_S, kind="cut", one=(continent,)))


STORIES: dict[str, Mishap] = {
    NOTHING: _nothing,
    "a crawler dies": _a_crawler_dies,
    "a crawler dies and comes back": _a_crawler_comes_back,
    SHORTLY: _the_coordinator_is_cut_off_shortly,
    FOR_LONG: _the_coordinator_is_cut_off,
    "the coordinator dies and comes back": _the_coordinator_dies,
    f"a continent is cut off for {AWAY_S:g} s": _a_continent_is_cut_off,
    f"every link loses {LOSS:.0%}": _nothing,
}
QUICK_STORIES = (NOTHING, "a crawler dies")


def run(harness: BoxHarness) -> Findings:
    rows = []
    for story in QUICK_STORIES if harness.quick else STORIES:
        harness.say(story)
        world = harness.world(WANTED, QUICK)
        lossy = story.startswith("every link")
        with harness.staged(altered(world, loss=LOSS) if lossy else world) as (box, folder):
            rows.append(_told(story, box, folder, harness.data_source.tree_file))
    for row in rows:
        row["later_s"] = float(row["seconds"]) - float(rows[0]["seconds"])
    return harness.findings(
        "faults",
        tables=[Tabulated("The same crawl, and one thing that goes wrong in it", COLUMNS, rows)],
        plots=[_plot(rows)],
        verdict=_verdict(rows),
    )


def _told(story: str, box: NetworkBox, folder: Path, tree: Path | None) -> FindingsRow:
    """One story from the first link to the last page."""
    world = box.world
    urls = urls_of(made_web(world))
    with System(box, folder, SETTINGS, tree) as system:
        _begin(system, world)
        began = time.monotonic()
        system.submit(f"http://{site.name}/" for site in world.file.sites)
        system.until(lambda: len(system.integrated()) >= BEFORE_FAULT_SHARE * len(urls), PATIENCE_S)
        STORIES[story](system, world)
        system.until(lambda: urls <= set(system.integrated()), PATIENCE_S)
        seconds = time.monotonic() - began
        home = system.integrated()
    return {"story": story, "seconds": seconds, **_counted(urls, home, folder)}


def _begin(system: System, world: BoxWorld) -> None:
    system.start_coordinator()
    for crawler in world.file.crawlers:
        system.join(crawler.name)
        system.start_host(crawler.name)
    count = len(world.file.crawlers)
    system.until(lambda: sum(host.awake for host in system.status().hosts) == count, PATIENCE_S)


def _busiest(system: System) -> str:
    return max(system.status().hosts, key=lambda host: host.sites).name


def _counted(urls: set[str], home: list[str], folder: Path) -> FindingsRow:
    asked = Counter(
        f"http://{line.site}{line.path}"
        for line in access_log(folder)
        if line.method == "GET" and line.status == 200
    )
    return {
        "pages": float(len(urls)),
        "lost": float(len(urls - set(home))),
        "indexed_twice": float(len(home) - len(set(home))),
        "fetched_twice": float(sum(asked[url] - 1 for url in urls if asked[url] > 1)),
    }


def _plot(rows: list[FindingsRow]) -> Plot:
    names = [str(row["story"]) for row in rows]
    times = Series("until all pages are home", names, [float(row["seconds"]) for row in rows])
    return Plot("seconds", "Until all pages are home", "", "s", [times])


def _verdict(rows: list[FindingsRow]) -> list[str]:
    lost, twice = (sum(float(row[key]) for row in rows) for key in ("lost", "indexed_twice"))
    again = {str(row["story"]): float(row["fetched_twice"]) for row in rows}
    slowest = max(rows, key=lambda row: float(row["later_s"]))
    return [
        prose(f"""Pages lost in all stories together: {lost:.0f}. Pages indexed twice: {twice:.0f}. Fetched
        again, which costs the site a request and changes nothing: what a dead crawler had not delivered, and
        what was delivered under a lease that was over."""),
        prose(f"""A crawler that dies is missed when its lease of {LEASE_S:g} s is over; a deployment has
        `coordinator.lease_seconds` at minutes, and the time to recover grows by as much. The slowest story
        ({slowest["story"]}) ended {float(slowest["later_s"]):.0f} s after the one where nothing went
        wrong."""),
        prose(_of_the_coordinator(again)),
    ]


def _of_the_coordinator(again: dict[str, float]) -> str:
    if FOR_LONG not in again:
        return "The coordinator was there all the time."
    return f"""A host that cannot reach its coordinator goes on crawling. With the coordinator back within a
        lease, after {SHORTLY_S:g} s, {again[SHORTLY]:.0f} pages were fetched again; after {AWAY_S:g} s, more
        than a lease, {again[FOR_LONG]:.0f}. A coordinator that hears nearly nobody suspects its own line
        first: no lease ends, and everybody has a whole one to come back in. A continent that is cut off
        while others are heard is given to them, and what was crawled there meanwhile is crawled again."""
