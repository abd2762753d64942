"""Sites in one machine room -> the further sites that an answer serves.

A cloud's region has hundreds of sites that look alike. An error about the first would be repeated for all
of them, and an answer for one holds for all. So a probe is worth its saving for this site, and again for
each expected future twin: as many as there were past twins without that answer. An answer is also applied
to the past twins.

Invariant: a share of a probability is never above one, and a measurement is never overwritten.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Floats, Singles, Whole

LIKELY_MIN = 0.1  # of the most probable twin's probability; less probable ones are not updated


def served(weights: Singles, unsure: Singles, off_ms: float) -> Singles:
    """By crawler, the number of sites that its answer would serve: this one, and as many future twins as
    there were past twins without its answer.

    `weights`: each twin's share of all examples' weight; `unsure`: crawler by twin, squared doubts;
    `off_ms`: the difference between twins: one with a smaller doubt has the crawler's answer.
    """
    if not len(weights):
        return np.ones(len(unsure), dtype=np.float32)
    together, most = float(np.add.reduce(weights)), float(np.maximum.reduce(weights))
    without: Singles = (unsure > off_ms * off_ms) @ weights
    without *= together / most
    all_and_one = together * together / most + 1.0
    return np.divide(all_and_one, np.subtract(all_and_one, without, out=without), out=without)


def past_twins(rows: Whole, weights: Singles, fixed: int) -> tuple[Whole, Floats]:
    """Rows of past sites and the probability that each is a twin.

    All twins of a room explain a site equally well and share the weight, so each is compared with the
    most probable one. A row may occur several times; those before `fixed` are not sites.
    """
    sums: Floats = np.bincount(rows, weights, fixed + 1).astype(np.float64)
    sums[:fixed] = 0.0
    most = sums.max()
    if most <= 0.0:
        return rows[:0], sums[:0]
    likely = (sums > most * LIKELY_MIN).nonzero()[0]
    together = min(float(np.add.reduce(weights)), 1.0)
    return likely, sums.take(likely) * (together / most)
