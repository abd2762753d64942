"""Sites handed over between neighbours: true round trips, probes and loads beside MP and what is trivial.

Beyond the paper: it judges by Euclidean distance, which flatters; here the round trips are those measured.
"""

from __future__ import annotations

import numpy as np

from ipmicra.lab.findings import Cell, Findings, FindingsColumn, Plot, Series, Tabulated, prose
from ipmicra.lab.harness import ExperimentHarness
from ipmicra.lab.overlay.handover_simulation import HandoverSimulation
from ipmicra.lab.overlay.metrics import distances_ms, load_variation, loads, nearest_peers, true_ms
from ipmicra.lab.overlay.setup import OverlaySetup, peers_for, setup_of
from ipmicra.lab.overlay.zone_simulation import ZoneRows, grown
from ipmicra.overlay.can.sites.nearness import HandOverRule

TITLE = "Handing sites over: true round trips, probes, loads"
PAPER = """
The CAN-on-NC paper leaves a site with the peer whose zone holds it, judges by Euclidean distances and names
dynamic balancing as future work. GNP costs 20 probes per site.
"""

LANDMARKS_FEW = 6
PROBES_MAX = 22
PRICES_UNMEASURED_MS = (0.0, 10.0, 20.0)
PRICES_MEASURED_MS = (0.0, 10.0, 15.0)
COLUMNS = [
    FindingsColumn("who crawls", "way"),
    FindingsColumn("true ms", "true_ms", ".1f"),
    FindingsColumn("of MP", "true_of_mp"),
    FindingsColumn("of nearest peer", "true_of_nearest"),
    FindingsColumn("distance ms", "distance_ms", ".1f"),
    FindingsColumn("of MP", "distance_of_mp"),
    FindingsColumn("of bound", "distance_of_bound"),
    FindingsColumn("load variation", "load_variation"),
    FindingsColumn("of MP", "load_of_mp"),
    FindingsColumn("probes", "probes", ".1f"),
    FindingsColumn("moves per site", "moves"),
    FindingsColumn("rounds", "rounds", ".1f"),
]
Figures = list[float]  # true ms, distance ms, load variation, probes, moves, rounds


def run(harness: ExperimentHarness) -> Findings:
    peers = peers_for(harness.world)
    advance = harness.watch(f"{peers} peers", harness.draw_count)
    played: dict[str, list[Figures]] = {}
    for number in range(harness.draw_count):
        scene = setup_of(harness.world, harness.seed, number, peers)
        for way, figures in _played(scene).items():
            played.setdefault(way, []).append(figures)
        advance()
    means = {way: np.mean(figures, axis=0) for way, figures in played.items()}
    rows = [_row(way, means) for way in means]
    return harness.findings(
        "overlay-hand-over",
        tables=[Tabulated(f"{peers} peers", COLUMNS, rows)],
        plots=[_plot(rows)],
        verdict=_verdict({str(row["way"]): row for row in rows}),
    )


def _played(scene: OverlaySetup) -> dict[str, Figures]:
    probes = float(len(scene.landmarks))
    landmarks = np.array(scene.landmarks)
    truly_nearest = np.argmin(scene.round_trips_ms, axis=0)
    best_landmark = landmarks[np.argmin(scene.round_trips_ms[landmarks], axis=0)]
    found = {
        "DL/owner": _judged(scene, grown(scene, "DL/owner").home, probes),
        "MP": _judged(scene, grown(scene, "MP").home, probes),
        "best landmark": _judged(scene, best_landmark, probes),
        "nearest by coordinates": _judged(scene, nearest_peers(scene), probes),
        "nearest peer": _judged(scene, truly_nearest, float(scene.peers)),
    }
    few = scene.placed_by(scene.landmarks_spread(LANDMARKS_FEW))
    for price_ms in PRICES_UNMEASURED_MS:
        found[unmeasured(price_ms)] = _handed(scene, scene, HandOverRule(price_ms))
    for price_ms in PRICES_MEASURED_MS:
        rule = HandOverRule(price_ms, measured_max=PROBES_MAX)
        found[measured(price_ms)] = _handed(scene, few, rule)
    return found


def unmeasured(price_ms: float) -> str:
    return f"hand-over, price {price_ms:.0f} ms"


def measured(price_ms: float) -> str:
    return f"hand-over by probes, price {price_ms:.0f} ms"


def _handed(scene: OverlaySetup, placed: OverlaySetup, rule: HandOverRule) -> Figures:
    outcome = HandoverSimulation(grown(placed, "MP/slab"), rule).done()
    judged = _judged(scene, outcome.delegate, float(outcome.probes.mean()))
    return [*judged[:4], outcome.moves / scene.sites, float(outcome.rounds)]


def _judged(scene: OverlaySetup, crawler: ZoneRows, probes: float) -> Figures:
    return [
        float(true_ms(scene, crawler).mean()),
        float(distances_ms(scene, crawler).mean()),
        load_variation(loads(scene, crawler)),
        probes,
        0.0,
        0.0,
    ]


def _row(way: str, means: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]) -> dict[str, Cell]:
    mine, mp = means[way], means["MP"]
    return {
        "way": way,
        "true_ms": float(mine[0]),
        "true_of_mp": float(mine[0] / mp[0]),
        "true_of_nearest": float(mine[0] / means["nearest peer"][0]),
        "distance_ms": float(mine[1]),
        "distance_of_mp": float(mine[1] / mp[1]),
        "distance_of_bound": float(mine[1] / means["nearest by coordinates"][1]),
        "load_variation": float(mine[2]),
        "load_of_mp": float(mine[2] / mp[2]),
        "probes": float(mine[3]),
        "moves": float(mine[4]),
        "rounds": float(mine[5]),
    }


def _plot(rows: list[dict[str, Cell]]) -> Plot:
    bars = Series("true", [str(row["way"]) for row in rows], [float(row["true_ms"]) for row in rows])
    return Plot("true", "True round trip between site and crawler", "", "ms", [bars])


def _verdict(rows: dict[str, dict[str, Cell]]) -> list[str]:
    price_ms = PRICES_MEASURED_MS[-1]
    row = {key: cell for key, cell in rows[measured(price_ms)].items() if isinstance(cell, float)}
    lines = [
        prose(f"""With probes, price {price_ms:.0f} ms: {row["true_of_mp"]:.2f} of MP's true round trip
        (goal: 0.65 on Internet data, 0.55 on transit-stub), {row["true_of_nearest"]:.2f} of the nearest
        peer's (goal 1.4), load variation {row["load_variation"]:.2f} (goal 0.65), {row["probes"]:.1f}
        probes per site (goal 22), {row["true_ms"] / float(rows["best landmark"]["true_ms"]):.2f} of the best
        landmark's round trip.""")
    ]
    for price_ms in PRICES_UNMEASURED_MS[1:]:
        row = {key: cell for key, cell in rows[unmeasured(price_ms)].items() if isinstance(cell, float)}
        lines.append(
            prose(f"""With no probe beyond GNP's, price {price_ms:.0f} ms: {row["distance_of_mp"]:.2f} of
            MP's distance (goal 0.83), {row["distance_of_bound"]:.2f} of the bound (goal 1.10),
            {row["load_of_mp"]:.2f} of MP's load variation (goal 0.5; 0.75 on transit-stub).""")
        )
    return lines
