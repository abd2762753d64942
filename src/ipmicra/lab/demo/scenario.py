"""A town and its stage -> the whole life: tree, hosts, delegation, crawl, index; then the race.

Invariant: what a person could do is done by the documented commands; the story only looks on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import msgspec

from ipmicra.coordinator.client import CoordinatorClient
from ipmicra.coordinator.folder import packages_folder
from ipmicra.errors import OurFault
from ipmicra.lab.demo.comparison import Comparison, ComparisonResult, DemoDelegation
from ipmicra.lab.demo.config import HOST_CITIES, DemoConfig
from ipmicra.lab.demo.processes import DemoProcesses
from ipmicra.lab.loopback.registries import registry_text
from ipmicra.registry.folder import tree_file
from ipmicra.registry.treefile import open_tree
from ipmicra.search.factory import INDEX_FOLDER, open_index

CRAWL_SECONDS_MAX = 150.0
LOOK_SECONDS = 0.25
OURS = "ours, live"
RIVALS = {"random": "random", "hashing": "hash", "IPMicra, 50 ms": "ipmicra@50"}
OPTIMUM = {"optimum": "brute-force"}


class DemoObserver(Protocol):
    """An observer of the scenario's progress."""

    def begin(self, words: str, steps: int) -> Callable[[int, str], object]:
        """Returns what is to be called with the steps done so far, and what is being done."""


class DemoSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The results of the demo."""

    pages: int
    sites: int
    sites_by_host: dict[str, int]
    seconds: float
    bytes_home: int
    html_bytes: int
    results: list[ComparisonResult]


class DemoScenario:
    """Plays one town on one stage."""

    def __init__(self, town: DemoConfig, stage: DemoProcesses, watch: DemoObserver) -> None:
        self._town = town
        self._stage = stage
        self._watch = watch

    async def play(self) -> DemoSummary:
        began = time.monotonic()
        self._open_the_world()
        pages = self._look_on()
        seconds = time.monotonic() - began
        client = CoordinatorClient(self._town.coordinator)
        results = await self._race(self._delegated_live(client))
        return DemoSummary(
            pages=pages,
            sites=len(self._town.sites),
            sites_by_host={host.name: host.sites for host in client.status().hosts},
            seconds=seconds,
            bytes_home=self._bytes_home(),
            html_bytes=self._town.html_bytes,
            results=results,
        )

    def _open_the_world(self) -> None:
        steps = list(self._steps())
        moved = self._watch.begin("the world", len(steps))
        for number, (words, step) in enumerate(steps):
            moved(number, words)
            step()
        moved(len(steps), "the world stands")

    def _steps(self) -> Iterator[tuple[str, Callable[[], object]]]:
        yield "a made-up web starts", self._stage.start_web
        yield "registry files become a tree", self._build_tree
        yield "the coordinator starts", self._stage.start_coordinator
        for city in HOST_CITIES:
            yield f"{city} joins", partial(self._join, city)
        yield "front pages are submitted", self._submit

    def _build_tree(self) -> None:
        path = self._town.folder / "made-up.db"
        path.write_text(registry_text(self._town.layout))
        self._stage.command("home", "registry", "build", str(path))

    def _join(self, city: str) -> None:
        output = self._stage.command("home", "coordinator", "register", city.lower(), "--json")
        token = msgspec.json.decode(output)["token"]
        self._stage.command(city, "host", "join", self._town.coordinator, token, "--yes")
        self._stage.start_host(city)

    def _submit(self) -> None:
        self._stage.command("home", "coordinator", "submit", *self._town.front_pages())

    def _look_on(self) -> int:
        """Until every page is in the index."""
        total = self._town.pages_total
        moved = self._watch.begin("delegated, crawled, brought home and indexed", total)
        until = time.monotonic() + CRAWL_SECONDS_MAX
        pages = 0
        while time.monotonic() < until:
            pages = self._indexed()
            moved(pages, "")
            if pages >= total:
                return pages
            time.sleep(LOOK_SECONDS)
        raise OurFault(f"after {CRAWL_SECONDS_MAX:.0f} s only {pages} of {total} pages were indexed")

    def _indexed(self) -> int:
        folder = self._town.folder / "home" / INDEX_FOLDER
        if not folder.exists():
            return 0
        index = open_index(folder)
        try:
            return index.page_count()
        finally:
            index.close()

    def _delegated_live(self, client: CoordinatorClient) -> DemoDelegation:
        """The coordinator's decisions, and the probes that they took."""
        cities = {city.lower(): city for city in HOST_CITIES}
        owners: dict[str, str] = {}
        probes: dict[str, int] = {}  # of a subnet's decision, once for all of its sites
        for site in self._town.sites.values():
            explanation = client.explain(self._town.url(site))
            if explanation.nearest.crawler is None:
                raise OurFault(
                    f"{site.name} has no crawler: {explanation.nearest.state}, {explanation.nearest.note}"
                )
            owners[site.name] = cities[explanation.nearest.crawler]
            probes[explanation.nearest.subnet] = len(explanation.probes)
        return DemoDelegation(owners, sum(probes.values()))

    def _bytes_home(self) -> int:
        packages = packages_folder(self._town.folder / "home")
        return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())

    async def _race(self, ours: DemoDelegation) -> list[ComparisonResult]:
        race = Comparison(self._town, open_tree(tree_file(self._town.folder / "home")).tree)
        rivals = RIVALS | {OURS: ""} | OPTIMUM
        moved = self._watch.begin(
            "the same sites by other ways", len(rivals) * len(self._town.sites) * 2
        )
        results: list[ComparisonResult] = []
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            moved(done, "")

        for name, spec in rivals.items():
            delegated = await race.delegate(spec, advance) if spec else ours
            done = max(done, (2 * len(results) + 1) * len(self._town.sites))
            results.append(await race.run(name, delegated, advance))
        return results
