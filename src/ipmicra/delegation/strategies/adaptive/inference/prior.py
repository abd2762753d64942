"""A site's facts against those of the examples -> how likely each example is to describe the site.

The prior is a mixture of *ties*: someone anywhere, near the country, in the country, in the same
system, organisation, subnet, or at a neighbouring address. Each tie spreads one unit over the examples
that share it. How much each tie is worth is learnt on line: after every site, the ties that led to the
examples which explained its answers are credited. So a cloud's organisation, which is everywhere, loses
weight by itself, and a tie of many places spreads over all of them.

Invariant: a prior adds up to one, and no example that is weighed is impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from ipmicra.delegation.strategies.adaptive.arrays import Singles
from ipmicra.delegation.strategies.adaptive.facts import (
    SHARED_BITS_MIN,
    UNKNOWN,
    SiteFeatures,
    identities_of,
    neighbourhoods,
)
from ipmicra.delegation.strategies.adaptive.settings import AdaptiveSettings
from ipmicra.delegation.strategies.adaptive.training.examples import Examples
from ipmicra.delegation.strategies.adaptive.training.sampling import (
    ADDRESS,
    ANYWHERE,
    NEAR,
    SUBNET,
    ExampleSample,
    Near,
    sampled,
)

# A subnet and a neighbouring address say the more the smaller the block that is shared, so each is four
# ties, by the length of the shared prefix in steps of four bits from SHARED_BITS_MIN on.
TIES = (
    *("anywhere", "near", "country", "system", "organisation"),
    *("wide subnet", "subnet", "small subnet", "tiny subnet"),
    *("far address", "address", "close address", "next address"),
)
ADDRESSES, STEPS, STEP_BITS = (
    9,
    4,
    4.0,
)  # where they begin; up to the subnet, ties are numbered as reasons
# What a tie is worth before anything was learnt. Only the order is meant: country is the best hint that
# registries have, and a small block says more than a large one.
FIRST_WORTH = (0.5, 1, 6, 1, 1, 0.5, 1, 2, 4, 0.5, 1, 2, 4)
FIRST_SITES = 12.0  # what that is worth against sites seen
# Examples times crawlers that are weighed for a site; more: slower, hardly better.
CELLS_MAX = 64_000
EXAMPLES_MIN = 64


class Prior(NamedTuple):
    """The examples weighed, part by part of the sample, and why."""

    sample: ExampleSample
    weights: Singles
    ties: dict[int, int]  # the reasons that apply -> which of TIES each is
    gave: dict[int, float]  # the reasons that apply -> what weight it gave, to that of the others


class SimilarityFeatures:
    """The learnt worth of each tie: how often it was right, of the times it could have been."""

    def __init__(self, settings: AdaptiveSettings) -> None:
        self.right = [FIRST_SITES * worth / sum(FIRST_WORTH[:SUBNET]) for worth in FIRST_WORTH]
        self.chances = [FIRST_SITES] * len(TIES)
        self._settings = settings

    def prior(self, facts: SiteFeatures, near: Near | None, examples: Examples) -> Prior:
        """`near`: the places around the site's country; None where nothing is known."""
        sample = sampled(_wanted(facts, self._settings), near, examples, self._room(examples))
        strengths, closest = _strengths(sample, facts, near, examples)
        ties, gave, factors, whole = {}, {}, {}, 0.0
        for reason, amount in _by_reason(sample, strengths).items():
            tie = ties[reason] = _tie(reason, facts, closest)
            total = amount
            if reason == ANYWHERE:
                total = examples.mass  # examples that are not in the sample keep their share
            elif reason == NEAR and near is not None:
                total = max(amount, near.total)
            factors[reason] = self._worth(tie) / total
            gave[reason] = factors[reason] * amount
            whole += gave[reason]
        strengths *= _spread([factors[reason] / whole for reason in sample.reasons], sample)
        return Prior(sample, strengths, ties, gave)

    def _worth(self, tie: int) -> float:
        return self.right[tie] / self.chances[tie]

    def _room(self, examples: Examples) -> int:
        affordable = CELLS_MAX // max(1, examples.crawlers)
        return min(self._settings.examples_max, max(EXAMPLES_MIN, affordable))

    def learn(self, prior: Prior, posterior: Singles) -> None:
        """One site, shared out by what each tie gave to the examples that proved right.

        Expectation and maximisation for a mixture of which not all parts apply each time: a tie's
        chances are counted against the worth of all ties that applied with it.
        """
        gained = _by_reason(prior.sample, posterior)
        credited = max(sum(gained.values()), 1e-30)
        worth = sum(map(self._worth, prior.ties.values()))
        for reason, tie in prior.ties.items():
            self.right[tie] += gained[reason] / credited
            self.chances[tie] += 1.0 / worth


def _strengths(
    sample: ExampleSample, facts: SiteFeatures, near: Near | None, examples: Examples
) -> tuple[Singles, float]:
    """Of each example within its reason: its mass, its part of what is near, or more for a smaller
    shared block; and the closest address's."""
    rows, closest = sample.rows, 1.0
    strengths = examples.masses.take(rows)
    for reason, begin, length in zip(sample.reasons, sample.begins, sample.lengths, strict=True):
        part = slice(begin, begin + length)
        if reason == NEAR and near is not None:
            strengths[part] = near.shares.take(rows[part])
        elif reason == ADDRESS:
            sizes = neighbourhoods(examples.keys.take(rows[part]), facts)
            strengths[part] *= sizes
            closest = max(closest, float(np.maximum.reduce(sizes)))
    return strengths, closest


def _by_reason(sample: ExampleSample, amounts: Singles) -> dict[int, float]:
    """Summed up over the examples that are there for the same reason."""
    sums: dict[int, float] = {}
    if sample.begins:
        for reason, amount in zip(
            sample.reasons, np.add.reduceat(amounts, sample.begins).tolist(), strict=True
        ):
            sums[reason] = sums.get(reason, 0.0) + amount
    return sums


def _spread(amounts: Sequence[float], sample: ExampleSample) -> Singles:
    """One amount a part -> one an example."""
    return np.array(amounts, dtype=np.float32).repeat(sample.lengths)


def _tie(reason: int, facts: SiteFeatures, closest: float) -> int:
    """The subnet and the address by how much is shared."""
    if reason < SUBNET:
        return reason
    if reason == SUBNET:
        return SUBNET + _step(facts.subnet_bits)
    return ADDRESSES + _step(log2(closest) + SHARED_BITS_MIN)


def _step(bits: float) -> int:
    return int(min(max((bits - SHARED_BITS_MIN) // STEP_BITS, 0), STEPS - 1))


def _wanted(facts: SiteFeatures, settings: AdaptiveSettings) -> list[int]:
    """The identities to look for: those that may be gone by."""
    network, prefix = settings.network, settings.prefix
    allowed = (settings.country, network, network, network, prefix)
    return [
        number if may else UNKNOWN for number, may in zip(identities_of(facts), allowed, strict=True)
    ]
