"""How far do letters go, and how many neighbours has a peer, as the network grows?"""

from __future__ import annotations

import numpy as np

from ipmicra.lab.findings import Cell, Findings, FindingsColumn, Plot, Series, Tabulated, prose
from ipmicra.lab.harness import ExperimentHarness
from ipmicra.lab.overlay.routes import Routes
from ipmicra.lab.overlay.setup import LANDMARKS, OverlaySetup, setup_of
from ipmicra.lab.overlay.zone_simulation import grown
from ipmicra.overlay.can.rules import PeerRules

TITLE = "Hops, neighbours and messages by the number of peers"
PAPER = """
The CAN-on-NC paper says nothing of routing. CAN itself promises about d/4 * n^(1/d) hops and 2d neighbours
where zones are of like size, which zones that follow coordinates are not.
"""

PEERS = (50, 200, 500, 1000, 2000)
PEERS_SHARE_MAX = 0.7  # of the places; the rest are sites, whose keys letters are sent to
LETTERS = 500
WAYS = (("DL/owner", False), ("MP", False), ("MP/slab", False), ("MP/slab", True))
COLUMNS = [
    FindingsColumn("peers", "peers", ".0f"),
    FindingsColumn("scheme", "way"),
    FindingsColumn("hops", "hops"),
    FindingsColumn("p99", "hops_p99", ".0f"),
    FindingsColumn("neighbours", "neighbours", ".1f"),
    FindingsColumn("most", "neighbours_max", ".0f"),
    FindingsColumn("gossip messages per peer and minute", "greetings", ".0f"),
    FindingsColumn("letters lost", "lost", ".1%"),
]


def run(harness: ExperimentHarness) -> Findings:
    counts = [count for count in PEERS if count <= PEERS_SHARE_MAX * len(harness.world.places)]
    counts = counts or [LANDMARKS + 1]
    advance = harness.watch("networks", len(counts) * harness.draw_count)
    rows = []
    for count in counts:
        found: dict[tuple[str, bool], list[list[float]]] = {way: [] for way in WAYS}
        for number in range(harness.draw_count):
            scene = setup_of(harness.world, harness.seed, number, count)
            for way in WAYS:
                found[way].append(_figures(scene, number, *way))
            advance()
        rows += [_row(count, way, found[way]) for way in WAYS]
    return harness.findings(
        "overlay-scale",
        tables=[Tabulated("By the number of peers", COLUMNS, rows)],
        plots=[_plot(rows)],
        verdict=_verdict(rows),
    )


def _figures(scene: OverlaySetup, number: int, scheme: str, looking_ahead: bool) -> list[float]:
    routes, dice = Routes(grown(scene, scheme)), np.random.default_rng(number)
    hops = [
        routes.hops(int(dice.integers(scene.peers)), scene.site_keys[int(site)], looking_ahead)
        for site in dice.integers(scene.sites, size=LETTERS)
    ]
    arrived = [count for count in hops if count is not None]
    counts = routes.counts()
    return [
        float(np.mean(arrived)),
        float(np.quantile(arrived, 0.99)),
        float(counts.mean()),
        float(counts.max()),
        1 - len(arrived) / len(hops),
    ]


def _row(count: int, way: tuple[str, bool], figures: list[list[float]]) -> dict[str, Cell]:
    hops, p99, neighbours, most, lost = np.mean(figures, axis=0)
    return {
        "peers": float(count),
        "way": _named(way),
        "hops": float(hops),
        "hops_p99": float(p99),
        "neighbours": float(neighbours),
        "neighbours_max": float(most),
        "greetings": float(neighbours) * 60 / PeerRules().gossip_every_s,
        "lost": float(lost),
    }


def _named(way: tuple[str, bool]) -> str:
    return f"{way[0]}, looking ahead" if way[1] else way[0]


def _plot(rows: list[dict[str, Cell]]) -> Plot:
    series = []
    for way in WAYS:
        mine = [row for row in rows if row["way"] == _named(way)]
        peers = [float(row["peers"]) for row in mine]
        series.append(Series(_named(way), peers, [round(float(row["hops"]), 3) for row in mine]))
    return Plot("hops", "Hops to the owner of a key", "peers", "hops", series)


def _verdict(rows: list[dict[str, Cell]]) -> list[str]:
    most = max(float(row["peers"]) for row in rows)
    last = {str(row["way"]): row for row in rows if row["peers"] == most}

    def text(way: tuple[str, bool]) -> str:
        row = last[_named(way)]
        return (
            f"{float(row['hops']):.1f} hops ({float(row['hops_p99']):.0f} at the 99th percentile), "
            f"{float(row['neighbours']):.1f} neighbours (at most {float(row['neighbours_max']):.0f})"
        )

    return [
        prose(f"""At {most:.0f} peers, goal at 2,000: 6 hops, 12 at the 99th percentile, 13 neighbours.
        Plain MP grows thin slabs: {text(WAYS[1])}. Cutting the axis with the largest difference times side:
        {text(WAYS[2])}. Looking at the neighbours' neighbours, whose descriptors gossip brings anyway:
        {text(WAYS[3])}.""")
    ]
