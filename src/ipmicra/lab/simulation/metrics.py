"""Decisions of a strategy -> their quality, and the variation between draws.

A site is delegated optimally where the chosen crawler's true round trip equals the least of all crawlers
(exactly: crawlers at the same distance are equally good). The excess is the chosen round trip less the
least. A probe of the crawler that is chosen is free: its first fetch measures the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ipmicra.lab.simulation.sampling import Draw
from ipmicra.lab.simulation.simulator import SimulationOutcome
from ipmicra.lab.world import Milliseconds

NEAR_MS = 5.0
LAST_SITES = 50

DrawMetrics = dict[str, float]
MetricsSummary = dict[str, float | str]


class JudgedDecision(NamedTuple):
    """One strategy on one draw: its figures, and the excess of every site for pooled percentiles."""

    strategy: str
    draw: int
    figures: DrawMetrics
    excess_ms: Milliseconds


def judged(strategy: str, draw: Draw, outcome: SimulationOutcome) -> JudgedDecision:
    """The figures of one run."""
    return JudgedDecision(strategy, draw.number, figures_of(draw, outcome), excess_ms(draw, outcome))


def excess_ms(draw: Draw, outcome: SimulationOutcome) -> Milliseconds:
    """Per site, how much farther the chosen crawler is than the nearest."""
    return chosen_ms(draw, outcome) - draw.least_ms


def chosen_ms(draw: Draw, outcome: SimulationOutcome) -> Milliseconds:
    """Per site, the true round trip of the chosen crawler."""
    return draw.round_trips_ms[outcome.chosen, np.arange(len(outcome.chosen))]


def figures_of(draw: Draw, outcome: SimulationOutcome) -> DrawMetrics:
    above_ms = excess_ms(draw, outcome)
    return {
        "optimal_share": float((above_ms == 0).mean()),
        "within_5ms_share": float((above_ms <= NEAR_MS).mean()),
        "excess_ms_mean": float(above_ms.mean()),
        "excess_ms_p95": float(np.percentile(above_ms, 95)),
        "round_trip_ms_mean": float(chosen_ms(draw, outcome).mean()),
        "probes_per_site": float(outcome.probes.mean()),
        "probes_per_site_last_50": float(outcome.probes[-LAST_SITES:].mean()),
        "probes_beyond_first_fetch_per_site": float((outcome.probes - outcome.free_probes).mean()),
        "sites": float(len(outcome.chosen)),
        "cpu_us_per_site": 1e6 * outcome.cpu_s / len(outcome.chosen),
    }


def summary(strategy: str, runs: Sequence[JudgedDecision]) -> MetricsSummary:
    """Means over the draws, with least, greatest and standard deviation; p95 over all sites of all draws."""
    result: MetricsSummary = {"strategy": strategy, "draws": len(runs)}
    for name in runs[0].figures:
        values = np.array([run.figures[name] for run in runs])
        result[name] = float(values.mean())
        if name not in ("sites", "cpu_us_per_site"):
            result[f"{name}_min"] = float(values.min())
            result[f"{name}_max"] = float(values.max())
            result[f"{name}_sd"] = float(values.std())
    result["excess_ms_p95"] = float(np.percentile(np.concatenate([run.excess_ms for run in runs]), 95))
    return result
