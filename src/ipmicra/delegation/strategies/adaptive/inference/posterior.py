"""Answers of one site -> the weight and the shift of each example for it.

An answer multiplies an example's weight by how well the example predicted it (a Student t, so that one
outlier does not spoil the result). A site's own access link shifts all its round trips alike: each
example's shift is estimated from its residuals and shrunk by the variance of shifts.

A past site counts twice: as a similar site, and as a *twin*, a site in the same machine room. So does a
place next to a crawler: a crawler is in a machine room too, and sites in the same room must not be
missed. Two variances distinguish a cloud's regions, exact to the millisecond, from a town's networks;
their shares are learnt.

Invariant: vectors by example only, twins after the rest, those of sites first, so that an answer costs
the same for any number of crawlers. Weights are relative, the greatest is one after the first answer;
none is NaN, for any answer.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Singles, Whole
from ipmicra.delegation.strategies.adaptive.inference.prior import Prior
from ipmicra.delegation.strategies.adaptive.inference.variances import (
    FREEDOM,
    ExampleVariances,
    VarianceModel,
    variances,
)
from ipmicra.delegation.strategies.adaptive.training.examples import Examples

# Numbers as arrays: what numpy need not convert at every call.
FREEDOMS, HALF_LESS = np.float32(FREEDOM).reshape(()), np.float32(-0.5).reshape(())
ANSWERS_ROOM = 4  # answers that fit in the first allocation; few sites need more


class PosteriorWeights:
    """The examples that a prior picked, weighed by answers."""

    def __init__(self, prior: Prior, examples: Examples, spreads: VarianceModel) -> None:
        rows, doors, fixed, *_ = prior.sample
        count = len(rows)
        self.doors, self.sites, self.twins = (
            doors,
            fixed,
            count,
        )  # number of the first; start of the others
        self._towns = slice(doors, fixed)
        self.widths: ExampleVariances = spreads.widths(
            (doors, fixed - doors, count - fixed, count - fixed + doors)
        )
        self.rows: Whole = np.concatenate((rows, rows[fixed:], rows[:doors]))
        self.doubt_rows: Whole = self.rows.copy()  # where the two doubts of each stand in a line
        self.doubt_rows[count:] += examples.doubts_ms.shape[2]
        # One under the other, so that those of the examples that count are taken at once.
        self.state: Singles = np.empty((3, len(self.rows)), dtype=np.float32)
        self.weights, self.shifts_ms, self.stretch = self.state  # the last: of variances
        np.concatenate((prior.weights, prior.weights[fixed:], prior.weights[:doors]), out=self.weights)
        self.weights *= self.widths.weight
        self._before: Singles = self.weights.copy()
        self.shifts_ms.fill(0.0)
        self.stretch.fill(1.0)
        self._examples = examples
        # Sums over the answers so far: the part of an example's -2 log weight without its misses;
        # precision of the shift; pull.
        self._against: Singles = np.zeros(len(self.rows), dtype=np.float32)
        self._precision: Singles = self.widths.shift_precision
        self._pull: Singles = np.zeros(len(self.rows), dtype=np.float32)
        self.left: Singles = self.widths.shift_variance  # what is unsure of the shift
        # Answer by example; scores are squared misses in variances, and FREEDOM.
        self._heard = 0
        self._room: Singles = np.empty((2, ANSWERS_ROOM, len(self.rows)), dtype=np.float32)
        self.misses_ms, self.variances = self._room[:, :0]
        self.scores = self.misses_ms

    def observe(self, column: int, round_trip_ms: float) -> None:
        """One crawler's answer."""
        miss, variance = self._room_for_one()
        values = self._examples.values_ms[column].take(self.rows)
        doubts = self._examples.doubts_ms[column].take(self.doubt_rows)
        variances(values, doubts, self.widths.own, out=variance)
        np.subtract(round_trip_ms, values, out=miss)
        self._shift(miss, variance)
        self._weigh()

    def _room_for_one(self) -> Singles:
        """Where the next answer's misses and variances are to be written."""
        if self._heard == self._room.shape[1]:
            self._room = np.concatenate((self._room, np.empty_like(self._room)), axis=1)
        self._heard += 1
        self.misses_ms, self.variances = self._room[:, : self._heard]
        return self._room[:, self._heard - 1]

    def _shift(self, miss: Singles, variance: Singles) -> None:
        """Each example's shift: the mean of its residuals, shrunk by the variance of shifts."""
        total = variance + self.left
        self._against += np.log(total, out=total)
        precision = np.reciprocal(variance, out=total)
        self._precision = self._precision + precision
        precision *= miss
        precision += self._pull
        self._pull = precision
        self.left = np.reciprocal(self._precision)
        shifts = np.multiply(self._pull, self.left, out=self.shifts_ms)
        np.maximum(shifts, self.widths.shift_least_ms, out=shifts)
        np.minimum(shifts, self.widths.shift_most_ms, out=shifts)

    def _weigh(self) -> None:
        """A Student t for every answer, and the price of the shift that was granted."""
        scores = self.misses_ms - self.shifts_ms
        scores *= scores
        scores /= self.variances
        scores += FREEDOMS
        self.scores = scores
        shifted = self.shifts_ms * self.shifts_ms
        shifted *= self.widths.shift_precision
        evidence: Singles = _powers(self._heard) @ np.log(scores)
        evidence += self._against
        evidence += shifted
        evidence -= np.minimum.reduce(evidence)
        evidence *= HALF_LESS
        np.exp(evidence, out=evidence)
        np.multiply(evidence, self._before, out=self.weights)
        self._humble(shifted)

    def _humble(self, shifted: Singles) -> None:
        """Raise the variance of examples that predicted the answers badly: it is Student's, given the
        answers. A town's variance expresses missing knowledge from the start and stays.
        """
        misfit = np.add.reduce(self.scores, axis=0, initial=(1 - self._heard) * FREEDOM)
        misfit += shifted
        np.multiply(misfit, 1.0 / (FREEDOM + self._heard), out=self.stretch)
        self.stretch[self._towns] = 1.0

    def by_example(self) -> Singles:
        """The weights of the prior's examples, each with its twin's."""
        whole: Singles = self.weights[: self.twins].copy()
        of_doors = len(self.weights) - self.doors
        whole[self.sites :] += self.weights[self.twins : of_doors]
        whole[: self.doors] += self.weights[of_doors:]
        return whole


@cache
def _powers(answers: int) -> Singles:
    """To which each answer's score is raised in a Student t, twice."""
    return np.full(answers, FREEDOM + 1, dtype=np.float32)
