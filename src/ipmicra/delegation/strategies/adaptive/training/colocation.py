"""Who stands in one machine room -> whom an answer serves besides the site that was asked about.

A cloud's region sends hundreds of sites, one like the other. What is wrongly believed of the first would be
believed of all of them; what one of them is answered holds for all. So a probe is worth what it saves
this site, and again for each twin to come: as many as there were, while none of them had that answer. And
what was answered is told to the past twins.

Invariant: a share of a probability is never above one, and what was measured is never overwritten.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Floats, Singles, Whole

LIKELY_MIN = 0.1  # of the likeliest twin's probability; who is less likely is told nothing


def served(weights: Singles, unsure: Singles, off_ms: float) -> Singles:
    """By crawler, how many sites an answer of it would serve: this one, and as many twins to come as there
    were who did without it; the fewer, the more of them had it.

    `weights`: each twin's, of all examples' together; `unsure`: crawler by twin, squared doubts; `off_ms`:
    how far twins are apart, so that who is less unsure has its answer.
    """
    if not len(weights):
        return np.ones(len(unsure), dtype=np.float32)
    together, most = float(np.add.reduce(weights)), float(np.maximum.reduce(weights))
    without: Singles = (unsure > off_ms * off_ms) @ weights
    without *= together / most
    all_and_one = together * together / most + 1.0
    return np.divide(all_and_one, np.subtract(all_and_one, without, out=without), out=without)


def past_twins(rows: Whole, weights: Singles, fixed: int) -> tuple[Whole, Floats]:
    """Rows of past sites and the probability that each is a twin. Every twin of a room explains a site as
    well as the others and has but its part of the weight, so it is held against the likeliest.

    A row may be there several times; those before `fixed` are not sites.
    """
    sums: Floats = np.bincount(rows, weights, fixed + 1).astype(np.float64)
    sums[:fixed] = 0.0
    most = sums.max()
    if most <= 0.0:
        return rows[:0], sums[:0]
    likely = (sums > most * LIKELY_MIN).nonzero()[0]
    together = min(float(np.add.reduce(weights)), 1.0)
    return likely, sums.take(likely) * (together / most)
