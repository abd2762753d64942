"""Examples, their prior weights and the answers so far -> what is believed of one site.

Each example foretells the site's round trips; an answer multiplies its weight by how well it foretold
it (a Student t, so that one odd answer ruins nothing). A site's own access link shifts all its round
trips alike: each example's shift is estimated from its residuals and held back by how wide shifts are.

Law: weights add up to one and no number is NaN, whatever was answered. Asks nobody, decides nothing.
"""

from __future__ import annotations

import math

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats
from ipmicra.delegation.adaptive.bounds import least_ms
from ipmicra.delegation.adaptive.closeness import Prior
from ipmicra.delegation.adaptive.examples import Kind
from ipmicra.delegation.adaptive.experience import Experience
from ipmicra.delegation.adaptive.spreads import FREEDOM, Spreads

SHIFTS_DOWN, SHIFTS_UP = -2.0, 6.0  # in widths: an access link is seldom faster, at times much slower


class Belief:
    """About one site, from its prior on."""

    def __init__(self, prior: Prior, experience: Experience, spreads: Spreads) -> None:
        self.prior = prior
        self._experience = experience
        self._widths = spreads
        self.values_ms, self.doubts_ms, self.kinds = experience.gathered(prior.rows)
        self.spreads_ms = spreads.of(self.values_ms, self.doubts_ms, self.kinds)
        self.open_spreads_ms = self.spreads_ms  # of what is not answered yet
        self.weights = prior.weights
        self.means_ms = self.values_ms
        self.bounds_ms: Floats = np.zeros(self.values_ms.shape[1])
        self.columns: list[int] = []
        self.answers_ms: list[float] = []
        self._shifts: Floats = np.zeros(len(self.weights))
        self._precision: Floats = np.zeros(len(self.weights))  # sums over the answers so far
        self._pull: Floats = np.zeros(len(self.weights))
        self._logs = np.log(np.maximum(prior.weights, 1e-300))

    def hear(self, column: int, round_trip_ms: float) -> None:
        """One crawler's answer."""
        self.columns.append(column)
        self.answers_ms.append(round_trip_ms)
        mutual, light = self._experience.rows_of(column)
        self.bounds_ms = np.maximum(self.bounds_ms, least_ms(round_trip_ms, mutual, light))
        self._shift(column, round_trip_ms)
        self._weigh(column)
        self.means_ms = np.maximum(self.values_ms + self._shifts[:, None], self.bounds_ms)

    def _shift(self, column: int, round_trip_ms: float) -> None:
        """Each example's shift: the mean of its residuals, held back by how wide shifts are."""
        variance = self._widths.shift_variance
        precision = self.spreads_ms[:, column] ** -2
        self._precision = self._precision + precision
        self._pull = self._pull + precision * (round_trip_ms - self.values_ms[:, column])
        raw = self._pull / (self._precision + 1 / variance)
        width = math.sqrt(variance)
        self._shifts = np.minimum(np.maximum(raw, SHIFTS_DOWN * width), SHIFTS_UP * width)

    def _weigh(self, column: int) -> None:
        variance = self._widths.shift_variance
        self._logs = self._logs - np.log(self.spreads_ms[:, column])
        scores = (self.residuals_ms() / self.spreads_ms[:, self.columns]) ** 2
        told = np.log1p(scores / FREEDOM).sum(axis=1) * ((FREEDOM + 1) / 2)
        shifted = self._shifts * self._shifts / variance + np.log1p(variance * self._precision)
        logs = self._logs - told - 0.5 * shifted
        misfit = scores.sum(axis=1) + self._shifts * self._shifts / variance
        self._humble((FREEDOM + misfit) / (FREEDOM + len(self.columns)))
        weights = np.exp(logs - logs.max())
        self.weights = weights / weights.sum()

    def _humble(self, stretch: Floats) -> None:
        """Who foretold the answers badly knows the rest no better: its spread is Student's, given the
        answers. A town's spread is want of knowledge from the start and stays as it is."""
        stretched = np.where(self.kinds == Kind.PLACE, 1.0, np.sqrt(stretch))
        self.open_spreads_ms = self.spreads_ms * stretched[:, None]

    def residuals_ms(self) -> Floats:
        """Example by answer: what the example and its shift leave unexplained."""
        return np.array(self.answers_ms) - self.values_ms[:, self.columns] - self._shifts[:, None]

    def teach(self) -> None:
        """Let the widths learn from this site's answers."""
        if not self.columns:
            return
        rows = np.flatnonzero(self.weights >= WEIGHT_MIN)
        cells, weights = np.ix_(rows, np.array(self.columns)), self.weights[rows]
        left = 1.0 / (self._precision[rows] + 1 / self._widths.shift_variance)
        self._widths.learn(
            self.residuals_ms()[rows],
            self.values_ms[cells],
            self.spreads_ms[cells],
            self.kinds[rows],
            weights,
        )
        self._widths.learn_shift(self._shifts[rows], left, weights)

    def summary(self) -> tuple[Floats, Floats]:
        """The site as an example: believed round trips with their doubts, the measured ones exact."""
        values: Floats = self.weights @ self.means_ms
        unsure = self.doubts_ms**2
        unsure += CARRIED[self.kinds][:, None] * np.maximum(self.open_spreads_ms**2 - unsure, 0.0)
        square: Floats = self.weights @ ((self.means_ms - values) ** 2 + unsure)
        doubts = np.sqrt(square)
        values[self.columns], doubts[self.columns] = self.answers_ms, 0.0
        return values, doubts


WEIGHT_MIN = 1e-4  # examples lighter than this say nothing worth the time any more
# An example's doubt is handed on whole, or beliefs would grow sure by being repeated. Of the spread of
# its kind a share is: a town's spread is want of knowledge about the town, all of it; that of sites and
# crawlers is how neighbours differ, which is added anew whenever the new example is compared with a site.
CARRIED = np.array([0.25, 0.25, 1.0])  # site, crawler, place
