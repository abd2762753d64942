"""A belief and the best answer so far -> what each further probe is expected to save.

A probe can only help where it comes out below the best answer. For an example that foretells `mean`
with `spread`, that is the expected improvement of a normal variable; over all examples, weighed, it is
what the probe is worth in milliseconds. When the best of them is worth less than a probe's price, asking
ends. The first probe, with nothing to improve on, goes to the crawler likeliest to be the nearest.

Law: NaN never wins, and ties go to the crawler who joined first.
"""

from __future__ import annotations

import math

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Whole
from ipmicra.delegation.adaptive.belief import WEIGHT_MIN, Belief

COLUMNS_EXACT = 64  # more crawlers than this are sifted by a cheap upper bound first


def _improvement(score: float) -> float:
    """Of a standard normal variable below `score`: how far, on average, counting 0 where it is not."""
    density = math.exp(-0.5 * score * score) / math.sqrt(2 * math.pi)
    return score * 0.5 * (1 + math.erf(score / math.sqrt(2))) + density


SCORES: Floats = np.linspace(-5.0, 5.0, 401)
IMPROVEMENTS: Floats = np.array([_improvement(float(score)) for score in SCORES])


def expected_savings_ms(weights: Floats, means: Floats, spreads: Floats, best_ms: float) -> Floats:
    """For each column, the expectation of how far a probe falls below the best answer."""
    scores = (best_ms - means) / spreads
    improvements = np.maximum(np.interp(scores, SCORES, IMPROVEMENTS), scores)
    return np.asarray(weights @ (spreads * improvements), dtype=np.float64)


def sifted(weights: Floats, means: Floats, spreads: Floats, best_ms: float) -> Whole:
    """Columns that may be worth asking: all when few, else those that promise most at their luckiest."""
    if means.shape[1] <= COLUMNS_EXACT:
        return np.arange(means.shape[1])
    promise = weights @ np.maximum(best_ms - means + spreads, 0.0)
    return np.sort(np.argpartition(-promise, COLUMNS_EXACT)[:COLUMNS_EXACT])


def nearest_shares(weights: Floats, means: Floats) -> Floats:
    """For each column, the probability that it is the nearest: the weight of examples that say so."""
    nearest = np.argmin(means, axis=1)
    return np.bincount(nearest, weights, means.shape[1]).astype(np.float64)


def choice(belief: Belief, askable: Whole, best_ms: float | None) -> tuple[int | None, float]:
    """The column to ask next and what that is expected to save; None where nobody is left to ask.

    `best_ms` is the least answer of those who could take the site; None where there is none yet.
    """
    if not len(askable):
        return None, 0.0
    if best_ms is None:
        shares = nearest_shares(belief.weights, belief.means_ms[:, askable])
        return int(askable[np.argmax(shares)]), np.inf
    weights, means, spreads = _heavy(belief, askable)
    sieve = sifted(weights, means, spreads, best_ms)
    savings = expected_savings_ms(weights, means[:, sieve], spreads[:, sieve], best_ms)
    winner = int(np.argmax(savings))
    return int(askable[sieve[winner]]), float(savings[winner])


def _heavy(belief: Belief, askable: Whole) -> tuple[Floats, Floats, Floats]:
    """Weights, means and spreads of the examples that still count, for the crawlers still to ask."""
    rows = np.flatnonzero(belief.weights >= WEIGHT_MIN)
    cells = np.ix_(rows, askable)
    return belief.weights[rows], belief.means_ms[cells], belief.open_spreads_ms[cells]
