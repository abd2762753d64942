"""A belief and the best answer so far -> the expected saving of each further probe.

A probe only helps if its answer is below the best answer. For an example that predicts `mean` with
`spread`, that is the expected improvement of a normal variable; its weighted sum over all examples is the
value of the probe in milliseconds. If that is below the price of a probe, it counts again for each
further site that the answer would serve (`colocation`). If the best value is still below the price, no
more probes are sent. A crawler that answered for a co-located site may get the site without a probe: its
first fetch measures the same at no cost. The first probe, without an answer to improve on, goes to the
crawler that is most probably the nearest.

Invariant: NaN never wins, and ties go to the crawler that joined first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Floats, Singles, Whole
from ipmicra.delegation.strategies.adaptive.inference.belief import Belief

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


class ProbeChoice(NamedTuple):
    """The column to probe next and the expected saving; None if no crawler is left to probe. `unasked`:
    the crawler that would get the site without further probes, if it is not one that answered.
    """

    column: int | None
    saving_ms: float
    unasked: int | None = None


def choice(belief: Belief, askable: Whole, best_ms: float | None, price_ms: float) -> ProbeChoice:
    """Choose the next probe. `best_ms` is the least answer of the crawlers that could take the site; None
    if there is none yet. The expected saving is that of this site; if it is below the price, future
    co-located sites are added.
    """
    if not len(askable):
        return ProbeChoice(None, 0.0)
    if best_ms is None:
        return ProbeChoice(_likeliest(belief, askable), math.inf)
    possible_gains, unasked = _hopes(belief, askable, best_ms)
    winner = int(possible_gains.argmax())
    if possible_gains[winner] < price_ms:
        possible_gains *= belief.served().take(askable)
        winner = int(possible_gains.argmax())
    return ProbeChoice(int(askable[winner]), float(possible_gains[winner]), unasked)


def _hopes(belief: Belief, askable: Whole, best_ms: float) -> tuple[Singles, int | None]:
    """The expected saving of each probe, and the crawler that is expected to be nearer than the best
    answer, from its answers for co-located sites. A probe of that crawler only saves the cost of an
    error.
    """
    expected_ms = belief.expected_ms()
    if expected_ms is None:
        return _savings_ms(belief, best_ms).take(askable), None
    expected_ms = expected_ms.take(askable)
    nearest = int(expected_ms.argmin())
    least_ms = float(expected_ms[nearest])
    if least_ms >= best_ms:
        return _savings_ms(belief, best_ms).take(askable), None
    possible_gains = _savings_ms(belief, least_ms).take(askable)
    expected_ms[nearest] = best_ms
    instead_ms, column = float(np.minimum.reduce(expected_ms)), askable[nearest : nearest + 1]
    _, weights, means, spreads, _ = belief.prediction()
    saved = expected_savings_ms(
        weights, means.take(column, axis=0), spreads.take(column, axis=0), instead_ms
    )
    possible_gains[nearest] = saved[0] - (instead_ms - least_ms)
    return possible_gains, int(column[0])


def _savings_ms(belief: Belief, best_ms: float) -> Singles:
    """By column; of very many, of those alone that promise most."""
    _, weights, means, spreads, _ = belief.prediction()
    if len(means) <= COLUMNS_EXACT:
        return expected_savings_ms(weights, means, spreads, best_ms)
    sieve = sifted(weights, means, spreads, best_ms)
    savings = np.zeros(len(means), dtype=np.float32)
    savings[sieve] = expected_savings_ms(
        weights, means.take(sieve, axis=0), spreads.take(sieve, axis=0), best_ms
    )
    return savings


def _likeliest(belief: Belief, askable: Whole) -> int:
    """The crawler that is most probably the nearest, among those that can be probed."""
    if not belief.columns and len(askable) == len(belief.crawlers):
        return int(nearest_shares(belief.prior.weights, belief.nearest(), len(askable)).argmax())
    _, weights, means, *_ = belief.prediction()
    nearest = means.take(askable, axis=0).argmin(axis=0)
    return int(askable[nearest_shares(weights, nearest, len(askable)).argmax()])
