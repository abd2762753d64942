"""A belief and the best answer so far -> what each further probe is expected to save.

A probe can only help where it comes out below the best answer. For an example that foretells `mean`
with `spread`, that is the expected improvement of a normal variable; over all examples, weighed, it is
what the probe is worth in milliseconds. When the best of them is worth less than a probe's price, asking
ends. The first probe, with nothing to improve on, goes to the crawler likeliest to be the nearest.

Law: NaN never wins, and ties go to the crawler who joined first.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Whole
from ipmicra.delegation.adaptive.belief import Belief

COLUMNS_EXACT = 64  # more crawlers than this are sifted by a cheap upper bound first
ROOT_TWO_OVER_PI = 0.7978845608028654
ROOT_ONE_OVER_TWO_PI = 0.3989422804014327


def expected_savings_ms(weights: Floats, means: Floats, spreads: Floats, best_ms: float) -> Floats:
    """For each column, the expectation of how far a probe falls below the best answer."""
    score = (best_ms - means) / spreads
    # The normal distribution's integral within 0.0002, at the price of one tanh.
    below = 0.5 + 0.5 * np.tanh(ROOT_TWO_OVER_PI * (score + 0.044715 * score**3))
    density = ROOT_ONE_OVER_TWO_PI * np.exp(-0.5 * score * score)
    return np.asarray(weights @ (spreads * (score * below + density)), dtype=np.float64)


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
    means, spreads = belief.means_ms[:, askable], belief.spreads_ms[:, askable]
    if best_ms is None:
        return int(askable[np.argmax(nearest_shares(belief.weights, means))]), np.inf
    sieve = sifted(belief.weights, means, spreads, best_ms)
    savings = expected_savings_ms(belief.weights, means[:, sieve], spreads[:, sieve], best_ms)
    winner = int(np.argmax(savings))
    return int(askable[sieve[winner]]), float(savings[winner])
