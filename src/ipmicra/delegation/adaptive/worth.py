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
from ipmicra.delegation.adaptive.belief import Belief

COLUMNS_EXACT = 64  # more crawlers than this are sifted by a cheap upper bound first


def _improvement(score: float) -> float:
    """Of a standard normal variable below `score`: how far, on average, counting 0 where it is not."""
    density = math.exp(-0.5 * score * score) / math.sqrt(2 * math.pi)
    return score * 0.5 * (1 + math.erf(score / math.sqrt(2))) + density


# Looked up, not computed: beyond five spreads it is 0 on one side and the score on the other.
STEPS, REACH = 256, 5  # of the table: steps for a spread, spreads to either side
IMPROVEMENTS: Floats = np.array(
    [_improvement((n + 0.5) / STEPS - REACH) for n in range(2 * REACH * STEPS)]
)


def expected_savings_ms(weights: Floats, means: Floats, spreads: Floats, best_ms: float) -> Floats:
    """For each column, the expectation of how far a probe falls below the best answer."""
    scores = (best_ms - means) / spreads
    entries = (scores * STEPS + REACH * STEPS).astype(np.int64)
    improvements = np.maximum(IMPROVEMENTS.take(entries, mode="clip"), scores)
    return np.asarray(weights @ (spreads * improvements), dtype=np.float64)


def sifted(weights: Floats, means: Floats, spreads: Floats, best_ms: float) -> Whole:
    """Of many columns those that promise most at their luckiest."""
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
    _, weights, means, spreads = belief.foretold()
    if best_ms is None:
        shares = nearest_shares(weights, means[:, askable])
        return int(askable[np.argmax(shares)]), np.inf
    many = means.shape[1] > COLUMNS_EXACT
    sieve = sifted(weights, means, spreads, best_ms) if many else slice(None)
    savings: Floats = np.zeros(means.shape[1])
    savings[sieve] = expected_savings_ms(weights, means[:, sieve], spreads[:, sieve], best_ms)
    winner = int(askable[np.argmax(savings[askable])])
    return winner, float(savings[winner])
