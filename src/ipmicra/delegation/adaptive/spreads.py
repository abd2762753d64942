"""How far answers fall from what examples foretell -> how wide each kind of example is to be taken.

Two things keep a site from its example's round trips: it stands elsewhere (a spread for each entry), and
its own access link is slower or faster (one shift for all entries). Both widths are learnt on line, from
each site's answers weighed by how much each example explained them; a start is worth a few sites.

Law: a width is never zero, and one wild answer moves it little (Student's weights).
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Whole
from ipmicra.delegation.adaptive.examples import Kind

# Before anything is learnt, in ms and as a share of the round trip: two sites of one machine room differ
# by next to nothing, of one town by little, and a town's distance tells less.
FIRST_MS = np.array([3.0, 4.0, 6.0, 0.5])  # by kind: site, crawler, place, twin
FIRST_SHARE = np.array([0.05, 0.08, 0.15, 0.01])
FIRST_SHIFT_MS = 3.0
FIRST_TWINS = 0.1  # the share of past sites in the same machine room as the next
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
        self.twins = FIRST_TWINS * FIRST_SITES  # so many past sites were twins, of those that count
        self.twins_seen = FIRST_SITES

    def shares(self) -> Floats:
        """By kind: what part of an example's weight that kind gets."""
        twins = self.twins / self.twins_seen
        return np.array([1.0 - twins, 1.0, 1.0, twins])

    def shift_variances(self) -> Floats:
        """By kind. Twins share the access link."""
        return np.array([*[self.shift_variance] * 3, SHIFT_MS_MIN**2])

    def of(self, values_ms: Floats, doubts_ms: Floats, kinds: Whole) -> Floats:
        """The spread of every entry: what its kind has, and its own doubt."""
        own = FIRST_MS[kinds][:, None] + FIRST_SHARE[kinds][:, None] * values_ms
        return np.sqrt(self.factors[kinds][:, None] * own * own + doubts_ms * doubts_ms)

    def learn(
        self, residuals_ms: Floats, values_ms: Floats, spreads_ms: Floats, kinds: Whole, weights: Floats
    ) -> None:
        """Example by answer: what was left unexplained. One step of expectation and maximisation.

        Of a twin's residual, what its own doubt accounts for is not held against machine rooms. The
        other kinds' widths take it in: beliefs err more than they say.
        """
        scores = (residuals_ms / spreads_ms) ** 2
        believed = (FREEDOM + 1) / (FREEDOM + scores)
        own = FIRST_MS[kinds][:, None] + FIRST_SHARE[kinds][:, None] * values_ms
        of_kind = self.factors[kinds][:, None]
        share = np.where((kinds == Kind.TWIN.value)[:, None], of_kind * (own / spreads_ms) ** 2, 1.0)
        squares = believed * (share * residuals_ms / own) ** 2 + of_kind * (1.0 - share)
        squares = weights * squares.sum(axis=1)
        counts = np.bincount(kinds, weights, len(self.seen)) * residuals_ms.shape[1]
        sums = np.bincount(kinds, squares, len(self.seen))
        self.factors = (self.seen * self.factors + sums) / (self.seen + counts)
        self.factors = np.maximum(self.factors, FACTOR_MIN**2)
        self.seen = np.minimum(self.seen + counts, SITES_MAX)

    def learn_shift(self, shifts_ms: Floats, variances: Floats, kinds: Whole, weights: Floats) -> None:
        """Shifts of one site by its examples, and what is unsure of each. Twins say nothing of shifts."""
        weights = np.where(kinds == Kind.TWIN.value, 0.0, weights)
        square, count = float(weights @ (shifts_ms * shifts_ms + variances)), float(weights.sum())
        total = self.shifts_seen * self.shift_variance + square
        self.shift_variance = max(total / (self.shifts_seen + count), SHIFT_MS_MIN**2)
        self.shifts_seen = min(self.shifts_seen + count, SITES_MAX)

    def learn_twins(self, kinds: Whole, weights: Floats) -> None:
        """One site: how much of what past sites explained was explained by twins."""
        alike, _, _, twins = np.bincount(kinds, weights, len(self.seen)).tolist()
        self.twins += twins
        self.twins_seen += alike + twins
