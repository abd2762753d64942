"""Answers of one site -> how much each example counts for it, and how far it is shifted.

An answer multiplies an example's weight by how well it was foretold (a Student t, so that one odd answer
ruins nothing). A site's own access link shifts all its round trips alike: each example's shift is
estimated from its residuals and held back by how wide shifts are.

A past site counts twice: as somebody alike, and as a *twin*, which stands in the same machine room. So
does somebody next door to a crawler: a crawler stands in a machine room too, and of all sites those in it
must not be missed. Two widths tell a cloud's regions, exact to the millisecond, from a town's networks;
which of them holds more often is learnt.

Law: vectors by example only, twins after the rest, those of sites first, so that an answer costs the same
however many crawlers there are. Weights are what they are to each other, the greatest is one once
something was heard; none is NaN, whatever was answered.
"""

from __future__ import annotations

import numpy as np

from ipmicra.delegation.adaptive.arrays import Singles, Whole
from ipmicra.delegation.adaptive.closeness import Prior
from ipmicra.delegation.adaptive.examples import Examples
from ipmicra.delegation.adaptive.spreads import FREEDOM, Spreads, Widths

WEIGHT_LEAST = np.float32(1e-30)  # of a prior, so that its logarithm is a number


class Weighing:
    """The examples that a prior picked, weighed by answers."""

    def __init__(self, prior: Prior, examples: Examples, spreads: Spreads) -> None:
        rows, doors, fixed, *_ = prior.sample
        count = len(rows)
        self.doors, self.sites, self.twins = doors, fixed, count  # so many; where these begin
        self._towns = slice(doors, fixed)
        self.widths: Widths = spreads.widths(
            (doors, fixed - doors, count - fixed, count - fixed + doors)
        )
        self.rows: Whole = np.concatenate((rows, rows[fixed:], rows[:doors]))
        self.weights: Singles = np.concatenate(
            (prior.weights, prior.weights[fixed:], prior.weights[:doors])
        )
        self.weights *= self.widths.weight
        self._examples = examples
        # Sums over the answers so far: -2 log weight but for the misses, precision of the shift, pull.
        self._against: Singles = np.log(np.maximum(self.weights, WEIGHT_LEAST))
        self._against *= -2.0
        self._precision: Singles = self.widths.shift_precision
        self._pull: Singles = np.zeros(len(self.rows), dtype=np.float32)
        self.left: Singles = self.widths.shift_variance  # what is unsure of the shift
        self.shifts_ms = self._pull
        self.stretch: Singles = np.ones(len(self.rows), dtype=np.float32)  # of variances
        # Answer by example; scores are squared misses in variances, and FREEDOM.
        self.misses_ms: Singles = np.empty((0, len(self.rows)), dtype=np.float32)
        self.variances = self.scores = self.misses_ms

    def hear(self, column: int, round_trip_ms: float) -> None:
        """One crawler's answer."""
        values = self._examples.values_ms[column].take(self.rows)
        doubts = self._examples.doubts_ms[column].take(self.rows)
        variance = self.widths.variance(values, doubts)
        miss = np.subtract(round_trip_ms, values, out=values)
        self.misses_ms = np.concatenate((self.misses_ms, miss[None]))
        self.variances = np.concatenate((self.variances, variance[None]))
        self._shift(miss, variance)
        self._weigh()

    def _shift(self, miss: Singles, variance: Singles) -> None:
        """Each example's shift: the mean of its residuals, held back by how wide shifts are."""
        told = variance + self.left
        self._against += np.log(told, out=told)
        precision = 1.0 / variance
        self._precision = self._precision + precision
        precision *= miss
        precision += self._pull
        self._pull = precision
        self.left = 1.0 / self._precision
        shifts = self._pull * self.left
        np.maximum(shifts, self.widths.shift_least_ms, out=shifts)
        self.shifts_ms = np.minimum(shifts, self.widths.shift_most_ms, out=shifts)

    def _weigh(self) -> None:
        """A Student t for every answer, and the price of the shift that was granted."""
        scores = self.misses_ms - self.shifts_ms
        scores *= scores
        scores /= self.variances
        scores += FREEDOM
        self.scores = scores
        shifted = self.shifts_ms * self.shifts_ms
        shifted *= self.widths.shift_precision
        told = np.add.reduce(np.log(scores), axis=0)
        told *= FREEDOM + 1
        told += self._against
        told += shifted
        told -= np.minimum.reduce(told)
        told *= -0.5
        self.weights = np.exp(told, out=told)
        shifted += np.add.reduce(scores, axis=0)
        self._humble(shifted)

    def _humble(self, misfit: Singles) -> None:
        """Who foretold the answers badly knows the rest no better: its variance is Student's, given the
        answers. A town's is want of knowledge from the start and stays as it is."""
        number = len(self.scores)
        misfit -= (number - 1) * FREEDOM  # which every score holds
        misfit *= 1.0 / (FREEDOM + number)
        misfit[self._towns] = 1.0
        self.stretch = misfit

    def by_example(self) -> Singles:
        """The weights of the prior's examples, each with its twin's."""
        whole = self.weights[: self.twins].copy()
        of_doors = len(self.weights) - self.doors
        whole[self.sites :] += self.weights[self.twins : of_doors]
        whole[: self.doors] += self.weights[of_doors:]
        return whole
