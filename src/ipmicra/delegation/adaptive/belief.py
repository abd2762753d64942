"""Examples, their prior weights and the answers so far -> what is believed of one site.

Each example foretells the site's round trips; an answer multiplies its weight by how well it foretold
it (a Student t, so that one odd answer ruins nothing). A site's own access link shifts all its round
trips alike: each example's shift is estimated from its residuals and held back by how wide shifts are.

A past site counts twice: as somebody alike, and as a *twin*, which stands in the same machine room. Two
widths tell a cloud's regions, exact to the millisecond, from a town's networks; which of them holds
more often is learnt.

Law: weights add up to one and no number is NaN, whatever was answered. Asks nobody, decides nothing. The
examples are copied when the belief is begun, so nothing that is learnt meanwhile changes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.delegation.adaptive.arrays import Singles, Whole
from ipmicra.delegation.adaptive.bounds import least_ms
from ipmicra.delegation.adaptive.closeness import Prior
from ipmicra.delegation.adaptive.experience import Experience
from ipmicra.delegation.adaptive.spreads import FREEDOM, Spreads

WEIGHT_MIN = 1e-4  # examples lighter than this say nothing worth the time any more
LONGEST_MS = 1e6  # a quarter of an hour: beyond it round trips are all alike


class Foretold(NamedTuple):
    """By the examples that still count: which, their weights, and by crawler means and spreads."""

    kept: Whole
    weights: Singles
    means_ms: Singles  # crawler by example
    spreads_ms: Singles  # crawler by example


class Belief:
    """About one site, from its prior on. Tables are crawler by example, twins after the rest."""

    def __init__(self, prior: Prior, experience: Experience, spreads: Spreads) -> None:
        self.prior = prior
        self.version = experience.version
        self.crawlers = experience.mutual.names
        self._experience = experience
        self._spreads = spreads
        examples, rows = experience.examples, prior.rows
        doors, fixed = rows.searchsorted((examples.doors, examples.fixed)).tolist()
        self._fixed, self._alone = fixed, len(rows)  # sites from here on, twins from there on
        counts = (doors, fixed - doors, len(rows) - fixed, len(rows) - fixed)
        self._towns = slice(doors, fixed)
        self._widths = widths = spreads.widths(counts)
        rows = np.concatenate((rows, rows[fixed:]))
        self.nearest: Whole = examples.nearest.take(rows)
        self.values_ms: Singles = examples.values_ms.take(rows, axis=1)
        self._unsure: Singles = examples.doubts_ms.take(rows, axis=1)  # squared from here on
        self._unsure *= self._unsure
        self._variances: Singles = self.values_ms * widths.own_share
        self._variances += widths.own_ms
        self._variances *= self._variances
        self._variances += self._unsure
        self.weights: Singles = np.concatenate((prior.weights, prior.weights[fixed:])) * widths.weight
        self.bounds_ms: Singles = np.zeros(len(self.values_ms), dtype=np.float32)
        self.light_ms: Singles = np.zeros(len(self.values_ms), dtype=np.float32)  # by light alone
        self.columns: list[int] = []
        self.answers_ms: list[float] = []
        # Sums over the answers so far: -2 log weight but for the misses, precision of the shift, pull.
        self._against: Singles = np.log(np.maximum(self.weights, np.float32(1e-30)))
        self._against *= -2.0
        self._precision: Singles = widths.shift_precision.copy()
        self._left: Singles = widths.shift_variance  # what is unsure of the shift
        self._pull: Singles = np.zeros(len(rows), dtype=np.float32)
        self._shifts = self._pull
        self._misses: Singles = np.empty((0, len(rows)), dtype=np.float32)  # answer by example
        self._scores: Singles = self._misses  # squared misses in variances, and FREEDOM
        self._stretch: Singles = np.ones(len(rows), dtype=np.float32)  # of variances
        self._foretold: Foretold | None = None

    def hear(self, column: int, round_trip_ms: float) -> None:
        """One crawler's answer."""
        self.columns.append(column)
        self.answers_ms.append(min(round_trip_ms, LONGEST_MS))
        mutual, light = self._experience.rows_of(column)
        np.maximum(self.bounds_ms, least_ms(round_trip_ms, mutual, light), out=self.bounds_ms)
        np.maximum(self.light_ms, light - round_trip_ms, out=self.light_ms)
        miss = self.answers_ms[-1] - self.values_ms[column]
        self._misses = np.concatenate((self._misses, miss[None]))
        self._shift(miss, self._variances[column])
        self._weigh()
        self._foretold = None

    def _shift(self, miss: Singles, variance: Singles) -> None:
        """Each example's shift: the mean of its residuals, held back by how wide shifts are."""
        self._against += np.log(variance + self._left)
        precision = 1.0 / variance
        self._precision += precision
        precision *= miss
        self._pull = self._pull + precision
        self._left = 1.0 / self._precision
        shifts = self._pull * self._left
        np.maximum(shifts, self._widths.shift_least_ms, out=shifts)
        self._shifts = np.minimum(shifts, self._widths.shift_most_ms, out=shifts)

    def _weigh(self) -> None:
        """A Student t for every answer, and the price of the shift that was granted."""
        scores = self._misses - self._shifts
        scores *= scores
        scores /= self._variances.take(self.columns, axis=0)
        scores += FREEDOM
        self._scores = scores
        shifted = self._shifts * self._shifts
        shifted *= self._widths.shift_precision
        told = np.add.reduce(np.log(scores), axis=0)
        told *= FREEDOM + 1
        told += self._against
        told += shifted
        told -= np.minimum.reduce(told)
        told *= -0.5
        weights = np.exp(told, out=told)
        weights /= np.add.reduce(weights)
        self.weights = weights
        shifted += np.add.reduce(scores, axis=0)
        self._humble(shifted)

    def _humble(self, misfit: Singles) -> None:
        """Who foretold the answers badly knows the rest no better: its variance is Student's, given the
        answers. A town's is want of knowledge from the start and stays as it is."""
        number = len(self.columns)
        misfit -= (number - 1) * FREEDOM  # which every score holds
        misfit *= 1.0 / (FREEDOM + number)
        misfit[self._towns] = 1.0
        self._stretch = misfit

    def foretold(self) -> Foretold:
        """What is believed now of every crawler's round trip, asked or not."""
        if self._foretold is None:
            enough = min(WEIGHT_MIN, float(np.maximum.reduce(self.weights)))
            kept = (self.weights >= enough).nonzero()[0]
            means = self.values_ms.take(kept, axis=1)
            means += self._shifts.take(kept)
            np.maximum(means, self.bounds_ms[:, None], out=means)
            spreads = self._variances.take(kept, axis=1)
            spreads *= self._stretch.take(kept)
            np.sqrt(spreads, out=spreads)
            weights = self.weights.take(kept)
            weights /= np.add.reduce(weights)
            self._foretold = Foretold(kept, weights, means, spreads)
        return self._foretold

    def by_example(self) -> Singles:
        """The weights of the prior's examples, each with its twin's."""
        whole = self.weights[: self._alone].copy()
        whole[self._fixed :] += self.weights[self._alone :]
        return whole

    def teach(self) -> None:
        """Let the widths learn from this site's answers."""
        fixed, alone = self._fixed, self._alone
        weights = np.zeros_like(self.weights)
        weights[self.foretold().kept] = self.foretold().weights
        values = self.values_ms.take(self.columns, axis=0)
        variances = self._variances.take(self.columns, axis=0)
        self._spreads.learn(self._scores - FREEDOM, values, variances, self._widths, weights)
        self._spreads.learn_shift(self._shifts[:alone], self._left[:alone], weights[:alone])
        sites, twins = np.add.reduce(weights[fixed:alone]), np.add.reduce(weights[alone:])
        self._spreads.learn_twins(float(sites), float(twins))

    def summary(self) -> tuple[Singles, Singles]:
        """The site as an example: believed round trips with their doubts, the measured ones exact."""
        kept, weights, means, spreads = self.foretold()
        values: Singles = means @ weights
        unsure = self._unsure.take(kept, axis=1)
        off = spreads * spreads
        off -= unsure
        np.maximum(off, 0.0, out=off)
        off *= self._widths.carried.take(kept)
        off += unsure
        apart = means - values[:, None]
        apart *= apart
        off += apart
        doubts: Singles = np.sqrt(off @ weights)
        values[self.columns], doubts[self.columns] = self.answers_ms, 0.0
        return values, doubts
