"""How far answers fall from what examples foretell -> how wide each kind of example is to be taken.

Two things keep a site from its example's round trips: it stands elsewhere (a spread for each entry), and
its own access link is slower or faster (one shift for all entries). Both widths are learnt on line, from
each site's answers weighed by how much each example explained them; a start is worth a few sites.

Invariant: a width is never zero, and one wild answer moves it little (Student's weights).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Singles, Whole
from ipmicra.delegation.strategies.adaptive.training.examples import IN_ORDER, ExampleKind

# Initial values, in ms and as a share of the round trip: two sites of one machine room hardly differ,
# two of one town differ a little, and the distance to a town is less exact.
FIRST_MS = (3.0, 4.0, 6.0, 0.5)  # by kind: site, crawler, place, twin
FIRST_SHARE = (0.05, 0.08, 0.15, 0.01)
FIRST: Singles = np.array((FIRST_MS, FIRST_SHARE), dtype=np.float32)
FIRST_SHIFT_MS = 3.0
FIRST_TWINS = 0.1  # the share of past sites in the same machine room as the next
FIRST_SITES = 20.0  # what the start is worth
SITES_MAX = 200.0  # what all that was seen is worth at most, so that the widths can follow
FACTOR_MIN, SHIFT_MS_MIN = 0.1, 0.2
FREEDOM = 4.0  # degrees of freedom of Student's t: one odd answer ruins nothing
# An example's doubt is handed on whole, or beliefs would grow sure by being repeated. Of the spread of
# its kind a share is, for someone alike: a town's spread is want of knowledge about the town, all of it;
# that of sites and crawlers is how neighbours differ, which is added again whenever the new example is
# compared with a site. Nothing is added where it is compared with a twin, so a twin is handed all of it.
CARRIED: Singles = np.array((0.25, 0.25, 1.0, 0.25), dtype=np.float32)  # by kind
ROWS = [int(kind) for kind in IN_ORDER]
KINDS = np.array(ROWS)
FIRST_MS_IN_ORDER = [FIRST_MS[kind] for kind in ROWS]
FIRST_SHARE_IN_ORDER = [FIRST_SHARE[kind] for kind in ROWS]
SHIFTS_DOWN, SHIFTS_UP = -2.0, 6.0  # in widths: an access link is seldom faster, at times much slower


class ExampleVariances:
    """For every example weighed, by its kind."""

    def __init__(self, table: Singles, counts: tuple[int, int, int, int]) -> None:
        """`table`: the variances of `VarianceModel`, one kind per column, and the examples of each."""
        self._counts = counts
        of_each = table.repeat(counts, axis=1)
        self.own = of_each[:2]  # of the spread: ms, and a share of the round trip
        self.shift_variance, self.shift_precision = of_each[2:4]
        self.shift_least_ms, self.shift_most_ms = of_each[4:6]
        self.weight = of_each[6]  # what part of an example's weight its kind gets

    def kinds(self, kept: Whole) -> Whole:
        """Of the examples kept."""
        return KINDS.repeat(self._counts).take(kept)


def variances(
    values_ms: Singles, doubts_ms: Singles, own: Singles, out: Singles | None = None
) -> Singles:
    """The variances of the examples' predictions, by the `own` widths of their kinds; the last axis is
    the examples. The doubts are squared in place.
    """
    own_ms, share = own
    variance: Singles = np.multiply(values_ms, share, out=out)
    variance += own_ms
    variance *= variance
    doubts_ms *= doubts_ms
    variance += doubts_ms
    return variance


class VarianceModel:
    """The learnt widths."""

    def __init__(self) -> None:
        self.factors = [1.0] * len(ExampleKind)  # squared, of each kind
        self.seen = [FIRST_SITES] * len(ExampleKind)
        self.shift_variance = FIRST_SHIFT_MS**2
        self.shifts_seen = FIRST_SITES
        self.twins = (
            FIRST_TWINS * FIRST_SITES
        )  # number of past sites that were twins, of those that count
        self.twins_seen = FIRST_SITES

    @property
    def twin_share(self) -> float:
        """The share of a past site's weight that it has as a twin."""
        return self.twins / self.twins_seen

    @property
    def twin_ms(self) -> float:
        """The difference between two sites of one machine room."""
        return sqrt(self.factors[ExampleKind.TWIN]) * FIRST_MS[ExampleKind.TWIN]

    def widths(self, counts: tuple[int, int, int, int]) -> ExampleVariances:
        """For the number of examples of each kind, in the order of rows. Twins share the access link."""
        own = [sqrt(self.factors[kind]) for kind in ROWS]
        twins, variance = self.twin_share, self.shift_variance
        precision, shift = 1 / variance, sqrt(variance)
        down, up = SHIFTS_DOWN * shift, SHIFTS_UP * shift
        table = (
            [width * ms for width, ms in zip(own, FIRST_MS_IN_ORDER, strict=True)],
            [width * share for width, share in zip(own, FIRST_SHARE_IN_ORDER, strict=True)],
            (variance, variance, variance, SHIFT_MS_MIN**2),
            (precision, precision, precision, 1 / SHIFT_MS_MIN**2),
            (down, down, down, SHIFTS_DOWN * SHIFT_MS_MIN),
            (up, up, up, SHIFTS_UP * SHIFT_MS_MIN),
            (1.0 - twins, 1.0, 1.0 - twins, twins),
        )
        return ExampleVariances(np.array(table, dtype=np.float32), counts)

    def learn(
        self, scores: Singles, values_ms: Singles, variances: Singles, kinds: Whole, weights: Singles
    ) -> None:
        """Answer by example: squared residuals, in variances. A step of expectation and maximisation.

        The part of a twin's residual that its own doubt explains does not widen machine rooms. It does
        widen the other kinds: their predictions err more than they state.
        """
        first_ms, first_share = FIRST.take(kinds, axis=1)
        own = values_ms * first_share
        own += first_ms
        own *= own
        own /= variances
        squares = scores / (scores + FREEDOM)
        squares *= FREEDOM + 1
        squares /= own
        twins = slice(np.count_nonzero(kinds != ExampleKind.TWIN), None)
        of_twins = self.factors[ExampleKind.TWIN]
        share = of_twins * own[:, twins]
        squares[:, twins] *= share * share
        squares[:, twins] += of_twins * (1.0 - share)
        counts = np.bincount(kinds, weights, len(ExampleKind)) * len(scores)
        sums = np.bincount(kinds, weights * np.add.reduce(squares, axis=0), len(ExampleKind))
        for kind, (count, total) in enumerate(zip(counts.tolist(), sums.tolist(), strict=True)):
            seen = self.seen[kind]
            factor = (seen * self.factors[kind] + total) / (seen + count)
            self.factors[kind] = max(factor, FACTOR_MIN**2)
            self.seen[kind] = min(seen + count, SITES_MAX)

    def learn_shift(self, shifts_ms: Singles, variances: Singles, weights: Singles) -> None:
        """Shifts of one site by its examples, and what is unsure of each. Twins say nothing of shifts."""
        square, count = float(weights @ (shifts_ms * shifts_ms + variances)), float(weights.sum())
        total = self.shifts_seen * self.shift_variance + square
        self.shift_variance = max(total / (self.shifts_seen + count), SHIFT_MS_MIN**2)
        self.shifts_seen = min(self.shifts_seen + count, SITES_MAX)

    def learn_twins(self, sites: float, twins: float) -> None:
        """One site: how much of it past sites explained as someone alike, and how much as twins."""
        self.twins += twins
        self.twins_seen += sites + twins
