"""Examples, their prior weights and the answers so far -> what is believed of one site.

Each example foretells the site's round trips; an answer multiplies its weight by how well it foretold
it (a Student t, so that one odd answer ruins nothing). A site's own access link shifts all its round
trips alike: each example's shift is estimated from its residuals and held back by how wide shifts are.

A past site counts twice: as somebody alike, and as a *twin*, which stands in the same machine room. Two
widths tell a cloud's regions, exact to the millisecond, from a town's networks; which of them holds
more often is learnt.

Law: weights add up to one and no number is NaN, whatever was answered. Asks nobody, decides nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Whole
from ipmicra.delegation.adaptive.bounds import least_ms
from ipmicra.delegation.adaptive.closeness import Prior
from ipmicra.delegation.adaptive.examples import Kind
from ipmicra.delegation.adaptive.experience import Experience
from ipmicra.delegation.adaptive.spreads import FREEDOM, Spreads

SHIFTS_DOWN, SHIFTS_UP = -2.0, 6.0  # in widths: an access link is seldom faster, at times much slower
WEIGHT_MIN = 1e-4  # examples lighter than this say nothing worth the time any more
# An example's doubt is handed on whole, or beliefs would grow sure by being repeated. Of the spread of
# its kind a share is: a town's spread is want of knowledge about the town, all of it; that of sites and
# crawlers is how neighbours differ, which is added anew whenever the new example is compared with a site.
CARRIED = np.array([0.25, 0.25, 1.0, 0.25])  # site, crawler, place, twin


class Foretold(NamedTuple):
    """By the examples that still count: their rows and weights, and means and spreads by crawler."""

    rows: Whole
    weights: Floats
    means_ms: Floats
    spreads_ms: Floats


class Belief:
    """About one site, from its prior on."""

    def __init__(self, prior: Prior, experience: Experience, spreads: Spreads) -> None:
        self.prior = prior
        self._experience = experience
        self._widths = spreads
        values, doubts, kinds = experience.gathered(prior.rows)
        self._examples = np.concatenate(
            [np.arange(len(kinds)), np.flatnonzero(kinds == Kind.SITE.value)]
        )
        self.values_ms, self.doubts_ms = values[self._examples], doubts[self._examples]
        self.kinds = kinds[self._examples]
        self.kinds[len(kinds) :] = Kind.TWIN.value
        self.spreads_ms = spreads.of(self.values_ms, self.doubts_ms, self.kinds)
        self.weights: Floats = prior.weights[self._examples] * spreads.shares()[self.kinds]
        self.bounds_ms: Floats = np.zeros(self.values_ms.shape[1])
        self.columns: list[int] = []
        self.answers_ms: list[float] = []
        count = len(self.weights)
        self._logs: Floats = np.log(np.maximum(self.weights, 1e-300))
        self._variances: Floats = spreads.shift_variances()[self.kinds]
        self._shifts: Floats = np.zeros(count)
        self._precision: Floats = np.zeros(count)  # sums over the answers so far
        self._pull: Floats = np.zeros(count)
        self._stretch: Floats = np.ones(count)
        self._misses: list[Floats] = []  # an answer less what each example says
        self._told: list[Floats] = []  # the spreads of what was answered
        self._foretold: Foretold | None = None

    def hear(self, column: int, round_trip_ms: float) -> None:
        """One crawler's answer."""
        self.columns.append(column)
        self.answers_ms.append(round_trip_ms)
        mutual, light = self._experience.rows_of(column)
        self.bounds_ms = np.maximum(self.bounds_ms, least_ms(round_trip_ms, mutual, light))
        self._misses.append(round_trip_ms - self.values_ms[:, column])
        self._told.append(self.spreads_ms[:, column].copy())
        self._shift()
        self._weigh()
        self._foretold = None

    def _shift(self) -> None:
        """Each example's shift: the mean of its residuals, held back by how wide shifts are."""
        precision = self._told[-1] ** -2
        self._precision += precision
        self._pull += precision * self._misses[-1]
        raw = self._pull / (self._precision + 1 / self._variances)
        width = np.sqrt(self._variances)
        self._shifts = np.minimum(np.maximum(raw, SHIFTS_DOWN * width), SHIFTS_UP * width)

    def _weigh(self) -> None:
        self._logs -= np.log(self._told[-1])
        scores = ((np.array(self._misses) - self._shifts) / np.array(self._told)) ** 2
        told = np.log1p(scores / FREEDOM).sum(axis=0) * ((FREEDOM + 1) / 2)
        shifted = self._shifts * self._shifts / self._variances
        logs = self._logs - told - 0.5 * (shifted + np.log1p(self._variances * self._precision))
        self._humble(scores.sum(axis=0) + shifted)
        weights = np.exp(logs - logs.max())
        self.weights = weights / weights.sum()

    def _humble(self, misfit: Floats) -> None:
        """Who foretold the answers badly knows the rest no better: its spread is Student's, given the
        answers. A town's spread is want of knowledge from the start and stays as it is."""
        self._stretch = np.sqrt((FREEDOM + misfit) / (FREEDOM + len(self.columns)))
        self._stretch[self.kinds == Kind.PLACE.value] = 1.0

    def foretold(self) -> Foretold:
        """What is believed now of every crawler's round trip, asked or not."""
        if self._foretold is None:
            rows = np.flatnonzero(self.weights >= min(WEIGHT_MIN, float(self.weights.max())))
            means = np.maximum(self.values_ms[rows] + self._shifts[rows, None], self.bounds_ms)
            spreads = self.spreads_ms[rows] * self._stretch[rows, None]
            weights = self.weights[rows]
            self._foretold = Foretold(rows, weights / weights.sum(), means, spreads)
        return self._foretold

    def by_example(self) -> Floats:
        """The weights of the prior's examples, each with its twin's."""
        whole = np.bincount(self._examples, self.weights, len(self.prior.rows))
        return np.asarray(whole, dtype=np.float64)

    def teach(self) -> None:
        """Let the widths learn from this site's answers."""
        if not self.columns:
            return
        rows, weights = self.foretold()[:2]
        cells = np.ix_(rows, np.array(self.columns))
        residuals = (np.array(self._misses)[:, rows] - self._shifts[rows]).T
        left = 1.0 / (self._precision[rows] + 1 / self._variances[rows])
        kinds = self.kinds[rows]
        self._widths.learn(residuals, self.values_ms[cells], self.spreads_ms[cells], kinds, weights)
        self._widths.learn_shift(self._shifts[rows], left, kinds, weights)
        self._widths.learn_twins(kinds, weights)

    def summary(self) -> tuple[Floats, Floats]:
        """The site as an example: believed round trips with their doubts, the measured ones exact."""
        rows, weights, means, spreads = self.foretold()
        values: Floats = weights @ means
        unsure = self.doubts_ms[rows] ** 2
        unsure += CARRIED[self.kinds[rows]][:, None] * np.maximum(spreads**2 - unsure, 0.0)
        doubts: Floats = np.sqrt(weights @ ((means - values) ** 2 + unsure))
        values[self.columns], doubts[self.columns] = self.answers_ms, 0.0
        return values, doubts
