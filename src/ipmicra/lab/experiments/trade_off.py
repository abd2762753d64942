"""How many probes buy how much accuracy? The whole curve of each strategy that has one.

Asked on 12 crawlers: adaptive by the price of a probe, IPMicra and first-fit by their threshold.
"""

from __future__ import annotations

from ipmicra.lab.findings import COMMON, Findings, Plot, Series, Tabulated, prose
from ipmicra.lab.harness import ExperimentHarness, PlayedStrategy

TITLE = "The trade-off: probes against accuracy, twelve crawlers"
PAPER = """
The papers give two points of this curve for IPMicra with 12 crawlers: 75 % at 3 probes per site and 90 % at
6.5 (IPMicra paper, 4.5). First-fit, the sequential probing of the paper on location-aware crawling (VI),
is described there without figures.
"""

CRAWLERS = 12
PRICES_MS = (4, 2, 1, 0.5, 0.25, 0.12, 0.06)
THRESHOLDS_MS = (5, 10, 25, 50, 75, 100, 150)
CURVES = {
    "adaptive": [f"adaptive@{price}" for price in PRICES_MS],
    "ipmicra": [f"ipmicra@{ms}" for ms in reversed(THRESHOLDS_MS)],
    "ipmicra, organisation inherited": [f"ipmicra@{ms}/inherit" for ms in reversed(THRESHOLDS_MS)],
    "first-fit": [f"first-fit@{ms}" for ms in reversed(THRESHOLDS_MS)],
}
ENDS = ["hash", "random", "brute-force"]
PAPER_POINTS = ([3.0, 6.5], [0.75, 0.90])


def run(harness: ExperimentHarness) -> Findings:
    specs = [*(spec for curve in CURVES.values() for spec in curve), *ENDS]
    played = harness.play(specs, CRAWLERS)
    return harness.findings(
        "trade-off",
        tables=[Tabulated("Means over the draws", COMMON, played.rows())],
        plots=[
            _plot(played, "probes", "probes per site", "probes_per_site"),
            _plot(
                played,
                "not-free",
                "probes per site beyond what the first fetch tells",
                "probes_beyond_first_fetch_per_site",
            ),
        ],
        verdict=_verdict(played),
    )


def _plot(played: PlayedStrategy, name: str, label: str, figure: str) -> Plot:
    series = [
        Series(
            curve,
            played.figures(specs, figure),
            played.figures(specs, "optimal_share"),
            low=played.figures(specs, "optimal_share_min"),
            high=played.figures(specs, "optimal_share_max"),
        )
        for curve, specs in CURVES.items()
    ]
    if name == "probes":
        series.append(Series("the paper", *PAPER_POINTS, points_only=True))
    return Plot(name, "Sites at their nearest crawler", label, "share, and its range over draws", series)


def _verdict(played: PlayedStrategy) -> list[str]:
    def cheapest(curve: str, share: float) -> str:
        enough = [spec for spec in CURVES[curve] if played.figure(spec, "optimal_share") >= share]
        costs = [played.figure(spec, "probes_per_site") for spec in enough]
        return f"{min(costs):.2f}" if costs else "not reached"

    lines = [
        f"{share:.0%}: " + ", ".join(f"{curve} {cheapest(curve, share)}" for curve in CURVES)
        for share in (0.75, 0.9, 0.95, 0.98)
    ]
    return [
        prose("""The fewest probes per site, among the points tried, that bring at least so many sites to
        their nearest crawler:"""),
        "\n".join(f"- {line}" for line in lines),
        prose("""One probe a site is free in every strategy that asks the crawler it chooses: that crawler's
        first fetch measures the same."""),
    ]
