"""A belief and the best answer so far -> what each further probe is expected to save.

A probe can only help where it comes out below the best answer. For an example that foretells `mean`
with `spread`, that is the expected improvement of a normal variable; over all examples, weighed, it is
what the probe is worth in milliseconds. Where that is below a probe's price, it counts again for each
further site that the answer would serve (`twins`). When the best of them is still worth less, asking
ends. The first probe, with nothing to improve on, goes to the crawler likeliest to be the nearest.

Law: NaN never wins, and ties go to the crawler who joined first.
"""

from __future__ import annotations

import math

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Singles, Whole
from ipmicra.delegation.adaptive.belief import Belief

COLUMNS_EXACT = 64  # more crawlers than this are sifted by a cheap upper bound first


def _improvement(score: float) -> float:
    """Of a standard normal variable below `score`: how far, on average, counting 0 where it is not."""
    density = math.exp(-0.5 * score * score) / math.sqrt(2 * math.pi)
    return score * 0.5 * (1 + math.erf(score / math.sqrt(2))) + density


# Looked up, not computed: beyond five spreads it is 0 on one side and the score on the other.
STEPS, REACH = 256, 5  # of the table: steps for a spread, spreads to either side
IMPROVEMENTS: Singles = np.array(
    [_improvement((n + 0.5) / STEPS - REACH) for n in range(2 * REACH * STEPS)], dtype=np.float32
)


def expected_savings_ms(weights: Singles, means: Singles, spreads: Singles, best_ms: float) -> Singles:
    """For each crawler, the expectation of how far a probe falls below the best answer."""
    scores = best_ms - means
    scores /= spreads
    steps = scores * STEPS
    steps += REACH * STEPS
    improvements = IMPROVEMENTS.take(steps.astype(np.int32), mode="clip")
    np.maximum(improvements, scores, out=improvements)
    improvements *= spreads
    savings: Singles = improvements @ weights
    return savings


def sifted(weights: Singles, means: Singles, spreads: Singles, best_ms: float) -> Whole:
    """Of many columns those that promise most at their luckiest."""
    promise = np.maximum(best_ms - means + spreads, 0.0) @ weights
    return np.sort(np.argpartition(-promise, COLUMNS_EXACT)[:COLUMNS_EXACT])


def nearest_shares(weights: Singles, nearest: Whole, crawlers: int) -> Floats:
    """For each column, the probability that it is the nearest: the weight of examples that say so."""
    return np.bincount(nearest, weights, crawlers).astype(np.float64)


def choice(
    belief: Belief, askable: Whole, best_ms: float | None, price_ms: float
) -> tuple[int | None, float]:
    """The column to ask next and what that is expected to save; None where nobody is left to ask.

    `best_ms` is the least answer of those who could take the site; None where there is none yet. What is
    expected to be saved is this site's; below the price, its twins' to come with it.
    """
    if not len(askable):
        return None, 0.0
    if best_ms is None:
        return _likeliest(belief, askable), math.inf
    _, weights, means, spreads, _ = belief.foretold()
    if len(means) <= COLUMNS_EXACT:
        savings = expected_savings_ms(weights, means, spreads, best_ms)
    else:
        sieve = sifted(weights, means, spreads, best_ms)
        savings = np.zeros(len(means), dtype=np.float32)
        savings[sieve] = expected_savings_ms(
            weights, means.take(sieve, axis=0), spreads.take(sieve, axis=0), best_ms
        )
    hopes = savings.take(askable)
    winner = int(hopes.argmax())
    if hopes[winner] < price_ms:
        hopes *= belief.served().take(askable)
        winner = int(hopes.argmax())
    return int(askable[winner]), float(hopes[winner])


def _likeliest(belief: Belief, askable: Whole) -> int:
    """Of those who can be asked the likeliest to be the nearest."""
    if not belief.columns and len(askable) == len(belief.crawlers):
        return int(nearest_shares(belief.prior.weights, belief.nearest(), len(askable)).argmax())
    _, weights, means, *_ = belief.foretold()
    nearest = means.take(askable, axis=0).argmin(axis=0)
    return int(askable[nearest_shares(weights, nearest, len(askable)).argmax()])
