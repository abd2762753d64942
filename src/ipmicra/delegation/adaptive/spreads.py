"""How far answers fall from what examples foretell -> how wide each kind of example is to be taken.

Two things keep a site from its example's round trips: it stands elsewhere (a spread for each entry), and
its own access link is slower or faster (one shift for all entries). Both widths are learnt on line, from
each site's answers weighed by how much each example explained them; a start is worth a few sites.

Law: a width is never zero, and one wild answer moves it little (Student's weights).
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Whole

# Before anything is learnt, in ms and as a share of the round trip: two sites of one town differ by
# little, a town's distance tells less.
FIRST_MS = np.array([3.0, 4.0, 6.0])  # by kind: site, crawler, place
FIRST_SHARE = np.array([0.05, 0.08, 0.15])
FIRST_SHIFT_MS = 3.0
FIRST_SITES = 20.0  # what the start is worth
SITES_MAX = 200.0  # what all that was seen is worth at most, so that the widths can follow
FACTOR_MIN, SHIFT_MS_MIN = 0.1, 0.2
FREEDOM = 4.0  # degrees of freedom of Student's t: one odd answer ruins nothing


class Spreads:
    """The learnt widths."""

    def __init__(self) -> None:
        self.factors: Floats = np.ones(len(FIRST_MS))  # squared, of each kind
        self.seen: Floats = np.full(len(FIRST_MS), FIRST_SITES)
        self.shift_variance = FIRST_SHIFT_MS**2
        self.shifts_seen = FIRST_SITES

    def of(self, values_ms: Floats, doubts_ms: Floats, kinds: Whole) -> Floats:
        """The spread of every entry: what its kind has, and its own doubt."""
        own = FIRST_MS[kinds][:, None] + FIRST_SHARE[kinds][:, None] * values_ms
        return np.sqrt(self.factors[kinds][:, None] * own * own + doubts_ms * doubts_ms)

    def learn(
        self, residuals_ms: Floats, values_ms: Floats, spreads_ms: Floats, kinds: Whole, weights: Floats
    ) -> None:
        """Example by answer: what was left unexplained. One step of expectation and maximisation."""
        scores = (residuals_ms / spreads_ms) ** 2
        believed = (FREEDOM + 1) / (FREEDOM + scores)
        own = FIRST_MS[kinds][:, None] + FIRST_SHARE[kinds][:, None] * values_ms
        squares = weights * (believed * (residuals_ms / own) ** 2).sum(axis=1)
        counts = np.bincount(kinds, weights, len(self.seen)) * residuals_ms.shape[1]
        sums = np.bincount(kinds, squares, len(self.seen))
        self.factors = (self.seen * self.factors + sums) / (self.seen + counts)
        self.factors = np.maximum(self.factors, FACTOR_MIN**2)
        self.seen = np.minimum(self.seen + counts, SITES_MAX)

    def learn_shift(self, shifts_ms: Floats, variances: Floats, weights: Floats) -> None:
        square = float(weights @ (shifts_ms * shifts_ms + variances))
        total = self.shifts_seen * self.shift_variance + square
        self.shift_variance = max(total / (self.shifts_seen + 1.0), SHIFT_MS_MIN**2)
        self.shifts_seen = min(self.shifts_seen + 1.0, SITES_MAX)
