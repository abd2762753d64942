"""Where should crawlers stand, and how many are enough? (The question that the IPMicra paper, 4.5, leaves.)

Crawlers may stand at any place. The sites of half of the places, drawn by the seed, are what the planner
sees; it is judged on the other half, without the places where crawlers stand: the mean round trip to the
nearest. Beside it crawlers at random places, and crawlers spread over the continents.

To stand where a site is counts, for the planner, no more than to stand at that place's nearest neighbour:
else every place saves its own site's way, and no number of crawlers were enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ipmicra.delegation.planner import best_places, enough, mean_nearest_ms
from ipmicra.lab.findings import Cell, Findings, FindingsColumn, Plot, Series, Tabulated, prose
from ipmicra.lab.harness import ExperimentHarness
from ipmicra.lab.simulation.metrics import chosen_ms
from ipmicra.lab.simulation.sampling import Draw, candidates, draw_crawlers, draw_sites
from ipmicra.lab.simulation.simulator import play
from ipmicra.lab.world import Milliseconds, World

TITLE = "Placement: twelve crawlers where the planner puts them"
PAPER = """
The IPMicra paper (4.5) notes that the benefit grows with the number of crawlers and expects the hierarchy
to be of use "in identifying the optimal number of crawlers"; it gives no method and no figures.
"""

COUNTS = (4, 8, 12, 24)
JUDGED_COUNT = 12
WAYS = ("planner", "spread over continents", "random")
DELEGATED_BY = ("brute-force", "adaptive", "ipmicra@50", "hash")
COLUMNS = [
    FindingsColumn("crawlers", "crawlers", ".0f"),
    FindingsColumn("placed by", "way"),
    FindingsColumn("unseen sites, ms", "mean_ms", ".1f"),
    FindingsColumn("± draws", "sd_ms", ".1f"),
    FindingsColumn("best draw", "min_ms", ".1f"),
    FindingsColumn("worst draw", "max_ms", ".1f"),
]
DELEGATED_COLUMNS = [
    FindingsColumn("delegated by", "strategy"),
    FindingsColumn("mean round trip, ms", "mean_ms", ".1f"),
    FindingsColumn("± draws", "sd_ms", ".1f"),
    FindingsColumn("probes", "probes"),
]


def run(harness: ExperimentHarness) -> Findings:
    halves = [_Halves(harness.world, harness.seed, number) for number in range(harness.draw_count)]
    counts = [count for count in COUNTS if count <= len(candidates(harness.world)) // 2]
    advance = harness.watch("placing", len(halves) * len(counts))
    found: dict[tuple[int, str], list[float]] = {}
    for half in halves:
        for count in counts:
            for way in WAYS:
                found.setdefault((count, way), []).append(half.judged_ms(half.placed(way, count)))
            advance()
    rows = [
        _row(values) | {"crawlers": float(count), "way": way} for (count, way), values in found.items()
    ]
    delegated = _delegated(harness, halves, max(c for c in counts if c <= JUDGED_COUNT))
    sufficient = float(np.mean([half.sufficient() for half in halves]))
    return harness.findings(
        "placement",
        tables=[
            Tabulated("Mean round trip from unseen sites to the nearest crawler", COLUMNS, rows),
            Tabulated("Planned crawlers, unseen sites, by delegation", DELEGATED_COLUMNS, delegated),
        ],
        plots=[_plot(rows, counts)],
        verdict=_verdict(rows, delegated, max(c for c in counts if c <= JUDGED_COUNT), sufficient),
        figures={"enough": sufficient},
    )


class _Halves:
    """One draw: all places where crawlers may stand, the half whose sites are seen, and the unseen."""

    def __init__(self, world: World, seed: int, number: int) -> None:
        self.number = number
        self.world = world
        self.generator = np.random.default_rng([seed, number, 2])
        self.places = candidates(world)
        shuffled = [int(place) for place in self.generator.permutation(self.places)]
        self.seen, self.unseen = shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]

    def placed(self, way: str, count: int) -> tuple[int, ...]:
        """Places of the world for this number of crawlers."""
        if way == "planner":
            return tuple(self.places[place] for place in best_places(self._in_sight(), count).places)
        if way == "random":
            return tuple(
                int(place) for place in self.generator.choice(self.places, count, replace=False)
            )
        return draw_crawlers(self.world, count, self.generator)

    def judged_ms(self, places: tuple[int, ...]) -> float:
        sites = [place for place in self.unseen if place not in places]
        table = self.world.round_trips_ms[np.ix_(places, sites)]
        return mean_nearest_ms(table, tuple(range(len(places))))

    def sufficient(self) -> int:
        """How many crawlers the planner calls enough, by what it sees."""
        return len(enough(self._in_sight(), len(self.places)).places)

    def draw(self, places: tuple[int, ...]) -> Draw:
        """The unseen sites, to be delegated to crawlers at these places."""
        unseen = set(self.unseen)
        homes = tuple(home for home in self.world.homes if home.place in unseen)
        return draw_sites(replace(self.world, homes=homes), places, self.generator, self.number)

    def _in_sight(self) -> Milliseconds:
        """Round trips from all places to the seen sites."""
        table = self.world.round_trips_ms.copy()
        np.fill_diagonal(table, np.inf)
        np.fill_diagonal(table, np.nanmin(table, axis=1))
        return table[np.ix_(self.places, self.seen)]


def _row(values: list[float]) -> dict[str, Cell]:
    ms = np.array(values)
    figures: dict[str, Callable[[], float]] = {
        "mean_ms": ms.mean,
        "sd_ms": ms.std,
        "min_ms": ms.min,
        "max_ms": ms.max,
    }
    return {name: float(figure()) for name, figure in figures.items()}


def _delegated(harness: ExperimentHarness, halves: list[_Halves], count: int) -> list[dict[str, Cell]]:
    tree = harness.trial(count).tree
    advance = harness.watch("delegating", len(halves) * len(DELEGATED_BY))
    means: dict[str, list[float]] = {spec: [] for spec in DELEGATED_BY}
    probes: dict[str, list[float]] = {spec: [] for spec in DELEGATED_BY}
    for half in halves:
        draw = half.draw(half.placed("planner", count))
        for spec in DELEGATED_BY:
            outcome = play(spec, tree, draw, harness.seed)
            means[spec].append(float(chosen_ms(draw, outcome).mean()))
            probes[spec].append(float(outcome.probes.mean()))
            advance()
    return [
        _row(means[spec]) | {"strategy": spec, "probes": float(np.mean(probes[spec]))}
        for spec in DELEGATED_BY
    ]


def _plot(rows: list[dict[str, Cell]], counts: list[int]) -> Plot:
    series = [
        Series(
            way,
            [float(count) for count in counts],
            [float(row["mean_ms"]) for row in of_way],
            low=[float(row["min_ms"]) for row in of_way],
            high=[float(row["max_ms"]) for row in of_way],
        )
        for way in WAYS
        for of_way in [[row for row in rows if row["way"] == way]]
    ]
    title = "Mean round trip from unseen sites to the nearest crawler"
    return Plot("round-trips", title, "crawlers", "ms, and its range over draws", series)


def _verdict(
    rows: list[dict[str, Cell]], delegated: list[dict[str, Cell]], count: int, sufficient: float
) -> list[str]:
    ms = {str(row["way"]): float(row["mean_ms"]) for row in rows if row["crawlers"] == count}
    by = {str(row["strategy"]): row for row in delegated}
    return [
        prose(f"""{count} crawlers placed by the planner are {ms["planner"]:.1f} ms from sites that it did
        not see, {count} spread over the continents {ms["spread over continents"]:.1f}, {count} at random
        {ms["random"]:.1f}. Adaptive, which has to find the nearest of them, reaches
        {float(by["adaptive"]["mean_ms"]):.1f} ms with {float(by["adaptive"]["probes"]):.2f} probes per site
        against brute force's {float(by["brute-force"]["mean_ms"]):.1f} with {count}; hashing would leave
        sites {float(by["hash"]["mean_ms"]):.0f} ms away, however well crawlers stand."""),
        prose(f"""By its own rule (stop when the next crawler saves less than 2 % of the mean) the planner
        calls {sufficient:.0f} crawlers enough, on average over the draws."""),
    ]
