"""Every splitting scheme, under every rule of which peer keeps which part. (CAN-on-NC paper, V.)

Figures 6 and 9 to 13. Peers join one by one while sites are inserted in the proportions of
Table I; distances are Euclidean in GNP's three dimensions, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ipmicra.lab.findings import Cell, Findings, FindingsColumn, Plot, Series, Tabulated, prose
from ipmicra.lab.harness import ExperimentHarness
from ipmicra.lab.overlay.metrics import (
    DECILES,
    by_decile_ms,
    distances_ms,
    load_variation,
    nearest_peers,
    true_ms,
)
from ipmicra.lab.overlay.setup import OverlaySetup, peers_for, setup_of
from ipmicra.lab.overlay.zone_simulation import grown

TITLE = "Splitting schemes: distance, in-zone probability, load"
PAPER = """
The CAN-on-NC paper (IV, V) reports that about 30 % of the peers stand in their own zone under DL, 35 %
under MPP, 7 % under NH, 3 % under GH and all under MP; that MP's average distance between peer and site is
45 % below DL's, the best of the others, on a transit-stub graph and 26 % on King data; that in-zone
probability and distance move against each other; that GH is the farthest; that early peers are far from
their sites under NH; that MP_30_NH lowers MP's load variation by 10 % and 4 % and DL_30_NH DL's by 30 % and
28 %, with distances below those of MPP, NH and GH. It does not say who keeps which part of a zone.
"""

IN_ZONE = {"DL": 0.30, "MPP": 0.35, "NH": 0.07, "GH": 0.03, "MP": 1.0}
KEEPING = ("blind", "owner", "newcomer")
CUTS = ("", "/median")
SHOWN = ("DL/blind", "MPP/blind", "NH/blind", "GH/blind", "MP", "MP_30_NH/blind", "DL/blind_30_NH/blind")
COLUMNS = [
    FindingsColumn("scheme", "scheme"),
    FindingsColumn("distance ms", "distance_ms", ".1f"),
    FindingsColumn("± draws", "distance_ms_sd", ".1f"),
    FindingsColumn("true ms", "true_ms", ".1f"),
    FindingsColumn("in zone", "in_zone", ".0%"),
    FindingsColumn("load variation", "load_variation"),
    FindingsColumn("± draws", "load_variation_sd"),
]


def schemes() -> list[str]:
    """The schemes: MP has no variants; the others differ in which peer keeps which part and, except MPP,
    in the cut.
    """
    found = ["MP", "MP/slab"]
    for keeping in KEEPING:
        found.append(f"MPP/{keeping}")
        for cut in CUTS:
            found += [f"DL{cut}/{keeping}", f"NH{cut}/{keeping}", f"GH{cut}/{keeping}"]
            found += [f"MP_30_NH{cut}/{keeping}", f"DL{cut}/{keeping}_30_NH{cut}/{keeping}"]
    return found


def run(harness: ExperimentHarness) -> Findings:
    peers, names = peers_for(harness.world), schemes()
    advance = harness.watch(f"{peers} peers", harness.draw_count)
    rows: dict[str, list[list[float]]] = {name: [] for name in names}
    bounds = []
    for number in range(harness.draw_count):
        scene = setup_of(harness.world, harness.seed, number, peers)
        bounds.append(float(distances_ms(scene, nearest_peers(scene)).mean()))
        for name in names:
            rows[name].append(_figures(scene, name))
        advance()
    found = {name: np.array(rows[name]) for name in names}
    table = Tabulated(f"{peers} peers", COLUMNS, [_row(name, found[name]) for name in names])
    return harness.findings(
        "overlay-schemes",
        tables=[table],
        plots=[_deciles(found), _against(found)],
        verdict=_verdict(found, float(np.mean(bounds))),
        figures={"nearest_peer_bound_ms": float(np.mean(bounds))},
    )


def _figures(scene: OverlaySetup, name: str) -> list[float]:
    tiling = grown(scene, name)
    return [
        float(distances_ms(scene, tiling.home).mean()),
        float(true_ms(scene, tiling.home).mean()),
        float(tiling.in_zone().mean()),
        load_variation(tiling.loads()),
        *map(float, by_decile_ms(scene, tiling.home)),
    ]


def _row(name: str, figures: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> dict[str, Cell]:
    mean, spread = figures[:, :4].mean(axis=0), figures[:, :4].std(axis=0)
    return {
        "scheme": name,
        "distance_ms": float(mean[0]),
        "distance_ms_sd": float(spread[0]),
        "true_ms": float(mean[1]),
        "in_zone": float(mean[2]),
        "load_variation": float(mean[3]),
        "load_variation_sd": float(spread[3]),
    }


Found = dict[str, np.ndarray[tuple[int, int], np.dtype[np.float64]]]


def _deciles(found: Found) -> Plot:
    series = [_by_decile(name, found[name][:, 4:]) for name in SHOWN]
    return Plot("deciles", "Distance by the time of joining", "peers, % joined", "ms", series)


def _by_decile(name: str, distances: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Series:
    """The mean over the draws; an empty tenth, in a very small world, is left out."""
    counts = np.isfinite(distances).sum(axis=0)
    means = np.nansum(distances, axis=0) / np.maximum(counts, 1)
    known = [tenth for tenth in range(DECILES) if counts[tenth]]
    return Series(
        name, [10.0 * (tenth + 1) for tenth in known], [round(float(means[t]), 2) for t in known]
    )


def _against(found: Found) -> Plot:
    """Figure 6: in-zone probability against distance, one point a scheme."""
    series = [
        Series(
            name, [float(found[name][:, 2].mean())], [float(found[name][:, 0].mean())], points_only=True
        )
        for name in SHOWN
    ]
    return Plot("in-zone", "Distance against in-zone probability", "in-zone probability", "ms", series)


def _verdict(found: Found, bound_ms: float) -> list[str]:
    def mean(name: str, figure: int) -> float:
        return float(found[name][:, figure].mean())

    return [
        *_in_zone_claims(mean),
        *_distance_claims(mean),
        *_load_claims(mean),
        f"The nearest peer by the coordinates would be {bound_ms / mean('MP', 0) - 1:+.0%} against MP.",
    ]


Mean = Callable[[str, int], float]


def _in_zone_claims(mean: Mean) -> list[str]:
    paragraphs = []
    for keeping in KEEPING:
        shares = {n: mean(n if n == "MP" else f"{n}/{keeping}", 2) for n in IN_ZONE}
        close = all(abs(shares[name] - claim) <= 0.06 for name, claim in IN_ZONE.items())
        words = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        paragraphs.append(
            f"In-zone ({keeping}): {words}: {_held(close)} within 6 points of the paper's figures."
        )
    return paragraphs


def _distance_claims(mean: Mean) -> list[str]:
    paragraphs = []
    for keeping in KEEPING:
        rivals = {name: mean(f"{name}/{keeping}", 0) for name in ("DL", "MPP", "NH", "GH")}
        change = mean("MP", 0) / rivals["DL"] - 1
        switched = max(mean(f"MP_30_NH/{keeping}", 0), mean(f"DL/{keeping}_30_NH/{keeping}", 0))
        paragraphs.append(
            prose(f"""Distance ({keeping}): MP against DL {change:+.0%} (the paper: -45 % on TS, -26 % on
            King), true round trips {mean("MP", 1) / mean(f"DL/{keeping}", 1) - 1:+.0%}; DL the best of the
            others: {_held(min(rivals, key=rivals.__getitem__) == "DL")}; GH the worst:
            {_held(max(rivals, key=rivals.__getitem__) == "GH")}; both SWITCH schemes below MPP, NH and GH:
            {_held(switched < min(rivals["MPP"], rivals["NH"], rivals["GH"]))}.""")
        )
    return paragraphs


def _load_claims(mean: Mean) -> list[str]:
    paragraphs = []
    for cut in CUTS:
        for keeping in KEEPING:
            mp = mean(f"MP_30_NH{cut}/{keeping}", 3) / mean("MP", 3) - 1
            name = f"DL{cut}/{keeping}"
            dl = mean(f"{name}_30_NH{cut}/{keeping}", 3) / mean(name, 3) - 1
            paragraphs.append(
                prose(f"""Load variation ({cut.strip("/") or "half"}, {keeping}): MP_30_NH against MP
                {mp:+.0%} (the paper: -10 % and -4 %): {_held(mp < 0)}; DL_30_NH against DL {dl:+.0%} (the
                paper: -30 % and -28 %): {_held(dl < 0)}.""")
            )
    return paragraphs


def _held(claim: bool) -> str:
    return "reproduced" if claim else "not reproduced"
