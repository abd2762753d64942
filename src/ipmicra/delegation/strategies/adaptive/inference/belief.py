"""A prior and the answers so far -> the expected round trips of one site to all crawlers.

Each example predicts the site's round trips, weighted by how well it predicted the answers (`posterior`);
bounds apply to crawlers that were not probed. Only examples with a relevant weight are used for all
crawlers.

Invariant: weights add up to one and no number is NaN, for any answers. It sends no probe and decides
nothing. It is *valid* while no example was written and no crawler joined or left since it was made; after
that it must be made again.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Singles, Whole
from ipmicra.delegation.strategies.adaptive.inference.bounds import RoundTripBounds
from ipmicra.delegation.strategies.adaptive.inference.posterior import PosteriorWeights
from ipmicra.delegation.strategies.adaptive.inference.prior import Prior
from ipmicra.delegation.strategies.adaptive.inference.variances import (
    CARRIED,
    FREEDOM,
    VarianceModel,
    variances,
)
from ipmicra.delegation.strategies.adaptive.training.colocation import past_twins, served
from ipmicra.delegation.strategies.adaptive.training.history import ExampleHistory

WEIGHT_MIN = 1e-4  # of all weight; examples lighter than this say nothing worth the time any more
LIKELIER = 0.5  # than not
LONGEST_MS = 1e6  # a quarter of an hour: beyond it round trips are all alike


class Prediction(NamedTuple):
    """By the examples that still count: which, their weights, and by crawler means and spreads."""

    kept: Whole
    weights: Singles
    means_ms: Singles  # crawler by example
    spreads_ms: Singles  # crawler by example
    unsure: Singles  # the part of the squared spread that is the examples' own doubt


class Belief:
    """About one site, from its prior on."""

    def __init__(self, prior: Prior, experience: ExampleHistory, spreads: VarianceModel) -> None:
        self.prior = prior
        self.crawlers = experience.mutual.names
        self.bounds = RoundTripBounds(len(self.crawlers))
        self.columns: list[int] = []
        self.answers_ms: list[float] = []
        self._experience = experience
        self._edition = experience.edition
        self._spreads = spreads
        self._foretold: Prediction | None = None

    @property
    def stands(self) -> bool:
        return self._edition == self._experience.edition

    @cached_property
    def _weighing(self) -> PosteriorWeights:
        """Made with the first answer: to choose the first crawler to probe, the prior is enough."""
        return PosteriorWeights(self.prior, self._experience.examples, self._spreads)

    def observe(self, column: int, round_trip_ms: float) -> None:
        """One crawler's answer."""
        self.columns.append(column)
        self.answers_ms.append(min(round_trip_ms, LONGEST_MS))
        self.bounds.tighten(round_trip_ms, self._experience.bounding_row(column))
        self._weighing.observe(column, self.answers_ms[-1])
        self._foretold = None

    def prediction(self) -> Prediction:
        """The expected round trip of every crawler, probed or not."""
        if self._foretold is None:
            self._foretold = self._foretell()
        return self._foretold

    def _foretell(self) -> Prediction:
        weighing, examples = self._weighing, self._experience.examples
        enough = WEIGHT_MIN * np.add.reduce(weighing.weights)
        kept = (weighing.weights >= enough).nonzero()[0]
        if not len(kept):  # ten thousand alike
            kept = np.arange(len(weighing.weights))
        weights, shifts_ms, stretch = weighing.state.take(kept, axis=1)
        means = examples.values_ms.take(weighing.rows.take(kept), axis=1)
        in_lines = examples.doubts_ms.reshape(len(means), -1)
        unsure = in_lines.take(weighing.doubt_rows.take(kept), axis=1)
        spreads = variances(means, unsure, weighing.widths.own.take(kept, axis=1))
        spreads *= stretch
        np.sqrt(spreads, out=spreads)
        means += shifts_ms
        np.maximum(means, self.bounds.least_ms[:, None], out=means)
        weights /= np.add.reduce(weights)
        return Prediction(kept, weights, means, spreads, unsure)

    def light_ms(self, column: int) -> float:
        """The lower bound of the crawler's round trip by the speed of light, from the answers so far."""
        between = (self._experience.light_ms(heard, column) for heard in self.columns)
        return max((ms - r for ms, r in zip(between, self.answers_ms, strict=True)), default=0.0)

    def served(self) -> Singles:
        """By crawler, how many sites an answer of it would serve, this one and twins to come."""
        kept, weights, _, _, unsure = self.prediction()
        twins = bisect_left(kept, self._weighing.twins)
        return served(weights[twins:], unsure[:, twins:], self._spreads.twin_ms)

    def expected_ms(self) -> Singles | None:
        """By crawler, the expected round trip where it probably answered for a co-located site, and
        infinity elsewhere; None if the site probably has no co-located site.
        """
        kept, weights, means, _, unsure = self.prediction()
        twins = bisect_left(kept, self._weighing.twins)
        if np.add.reduce(weights[twins:]) <= LIKELIER:
            return None
        off_ms = self._spreads.twin_ms
        answered: Singles = (unsure[:, twins:] <= off_ms * off_ms) @ weights[twins:]
        expected: Singles = means @ weights
        expected[answered <= LIKELIER] = np.inf
        return expected

    def nearest(self) -> Whole:
        """The nearest crawler to each of the prior's examples, before the first answer."""
        return self._experience.examples.nearest.take(self.prior.sample.rows)

    def by_example(self) -> Singles:
        """The weights of the prior's examples, as the answers left them."""
        return self._weighing.by_example()

    def teach(self) -> None:
        """Let the widths learn from this site's answers, by the examples that still count."""
        kept, weights, *_ = self.prediction()
        weighing = self._weighing
        values = np.array(self.answers_ms, dtype=np.float32)[:, None]
        values = values - weighing.misses_ms.take(kept, axis=1)
        widths = weighing.variances.take(kept, axis=1)
        scores = weighing.scores.take(kept, axis=1)
        scores -= FREEDOM
        self._spreads.learn(scores, values, widths, weighing.widths.kinds(kept), weights)
        doors, sites, twins = kept.searchsorted(
            (weighing.doors, weighing.sites, weighing.twins)
        ).tolist()
        alone = kept[:twins]
        self._spreads.learn_shift(
            weighing.shifts_ms.take(alone), weighing.left.take(alone), weights[:twins]
        )
        alike = np.add.reduce(weights[:doors]) + np.add.reduce(weights[sites:twins])
        self._spreads.learn_twins(float(alike), float(np.add.reduce(weights[twins:])))

    def update_twins(self) -> None:
        """Past sites that are this one's twins have its round trips, as likely as they are twins."""
        kept, weights, *_ = self.prediction()
        weighing, examples = self._weighing, self._experience.examples
        twins = int(kept.searchsorted(weighing.twins))
        rows = weighing.rows.take(kept[twins:])
        past, sure = past_twins(rows, weights[twins:], examples.fixed)
        off_ms = self._spreads.twin_ms
        for column, answer_ms in zip(self.columns, self.answers_ms, strict=True):
            examples.apply_answer(past, column, answer_ms, sure, off_ms)

    def summary(self) -> tuple[Singles, Singles]:
        """The site as an example: believed round trips with their doubts, the measured ones exact."""
        kept, weights, means, spreads, unsure = self.prediction()
        values: Singles = means @ weights
        own = spreads * spreads
        own -= unsure
        np.maximum(own, 0.0, out=own)
        unsure = unsure + (means - values[:, None]) ** 2
        unsure_ms: Singles = unsure @ weights
        carried = CARRIED.take(self._weighing.widths.kinds(kept))
        carried *= weights
        doubts = np.sqrt(np.array((unsure_ms + own @ carried, unsure_ms + own @ weights)).T)
        values[self.columns], doubts[self.columns] = self.answers_ms, 0.0
        return values, doubts
