"""A site's facts against those of the examples -> how likely each example is to describe the site.

The prior is a mixture of *ties*: somebody anywhere, near the country, in the country, in the same
system, organisation, subnet, or at a neighbouring address. Each tie spreads one unit over the examples
that share it. How much each tie is worth is learnt on line: after every site, the ties that led to the
examples which explained its answers are credited. So a cloud's organisation, which is everywhere, loses
weight by itself, and a tie of many places spreads over all of them.

Law: a prior adds up to one, and no example that is weighed is impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipmicra.delegation.adaptive.arrays import Shorts, Singles, Whole
from ipmicra.delegation.adaptive.examples import Examples, identities_of
from ipmicra.delegation.adaptive.facts import SHARED_BITS_MIN, UNKNOWN, Facts, neighbourhoods
from ipmicra.delegation.adaptive.sampling import Near, weighable
from ipmicra.delegation.adaptive.settings import AdaptiveSettings

# A subnet and a neighbouring address say the more the smaller the block that is shared, so each is four
# ties, by the length of the shared prefix in steps of four bits from SHARED_BITS_MIN on.
TIES = (
    *("anywhere", "near", "country", "system", "organisation"),
    *("wide subnet", "subnet", "small subnet", "tiny subnet"),
    *("far address", "address", "close address", "next address"),
)
SUBNET, ADDRESS, STEPS, STEP_BITS = 5, 9, 4, 4.0
LAST = SUBNET + 1  # the rows of shares: those before the subnet, the subnet, the address
# What a tie is worth before anything was learnt. Only the order is meant: country is the best hint that
# registries have, and a small block says more than a large one.
FIRST_WORTH = (0.5, 1, 6, 1, 1, 0.5, 1, 2, 4, 0.5, 1, 2, 4)
FIRST_SITES = 12.0  # what that is worth against sites seen
# Examples times crawlers that are weighed for a site; more: slower, hardly better.
CELLS_MAX = 64_000
EXAMPLES_MIN = 64
NOBODY = -2  # shared with no example
NO_ROWS: Whole = np.zeros(0, dtype=np.int64)


class Prior(NamedTuple):
    """The examples weighed, and why: `weights` are `factors` times `shares`."""

    rows: Whole  # in order
    doors: int  # of the rows so many are next door to crawlers
    fixed: int  # so many with the towns
    weights: Singles
    shares: Singles  # kind of tie by example: its mass where it has that tie
    factors: list[float]  # by kind of tie; 0 where it does not apply
    ties: list[int]  # which of TIES each kind is
    parts: dict[int, float]  # what each tie that applies gave in all


class Ties:
    """The learnt worth of each tie: how often it was right, of the times it could have been."""

    def __init__(self, settings: AdaptiveSettings) -> None:
        self.right = [FIRST_SITES * worth / sum(FIRST_WORTH[:SUBNET]) for worth in FIRST_WORTH]
        self.chances = [FIRST_SITES] * len(TIES)
        self._settings = settings

    def prior(self, facts: Facts, near: Near | None, examples: Examples) -> Prior:
        """`near`: the places around the site's country; None where nothing is known."""
        same = examples.identities == _wanted(facts, self._settings)
        beside = examples.beside(facts) if self._settings.prefix else NO_ROWS
        rows = weighable(same, beside, near, self._count(examples))
        doors, fixed = rows.searchsorted((examples.doors, examples.fixed)).tolist()
        shares = _shares(facts, same, beside, examples, rows)
        if near is not None:
            near.shares.take(rows[:fixed], out=shares[1, :fixed], mode="clip")
        weighed = np.add.reduce(shares, axis=1).tolist()
        ties = [*range(SUBNET), SUBNET + _step(facts.subnet_bits), ADDRESS]
        if weighed[LAST]:
            ties[LAST] += _step(log2(max(shares[LAST].max(), 1.0)) + SHARED_BITS_MIN)
        around = weighed[1] if near is None else max(weighed[1], near.total)
        # Who is not weighed takes its part of the first two along.
        factors = self._factors(ties, weighed, (examples.mass, around, *weighed[2:]))
        weights: Singles = np.array(factors, dtype=np.float32) @ shares
        parts = {tie: f * sum_ for tie, f, sum_ in zip(ties, factors, weighed, strict=True) if f}
        return Prior(rows, doors, fixed, weights, shares, factors, ties, parts)

    def _factors(
        self, ties: Sequence[int], weighed: Sequence[float], totals: Sequence[float]
    ) -> list[float]:
        """Of each kind of tie, so that a tie's worth is spread over its total and all adds up to one."""
        factors = [
            self._worth(tie) / total if own else 0.0
            for tie, own, total in zip(ties, weighed, totals, strict=True)
        ]
        scale = 1.0 / sum(factor * own for factor, own in zip(factors, weighed, strict=True))
        return [factor * scale for factor in factors]

    def _worth(self, tie: int) -> float:
        return self.right[tie] / self.chances[tie]

    def _count(self, examples: Examples) -> int:
        affordable = CELLS_MAX // max(1, examples.crawlers)
        return min(self._settings.examples_max, max(EXAMPLES_MIN, affordable))

    def learn(self, prior: Prior, posterior: Singles) -> None:
        """One site, shared out by what each tie gave to the examples that proved right.

        Expectation and maximisation for a mixture of which not all parts apply each time: a tie's
        chances are counted against the worth of all ties that applied with it.
        """
        gained = (prior.shares @ (posterior / np.maximum(prior.weights, 1e-30))).tolist()
        credits = {
            tie: factor * gain
            for tie, factor, gain in zip(prior.ties, prior.factors, gained, strict=True)
            if factor
        }
        credited, worth = max(sum(credits.values()), 1e-30), sum(map(self._worth, credits))
        for tie, credit in credits.items():
            self.right[tie] += credit / credited
            self.chances[tie] += 1.0 / worth


def _shares(
    facts: Facts, same: NDArray[np.bool_], beside: Whole, examples: Examples, rows: Whole
) -> Singles:
    """Kind of tie by example: the example's mass where the two share it, else 0. Nobody is near yet."""
    shares = np.zeros((LAST + 1, len(rows)), dtype=np.float32)
    masses = examples.masses.take(rows, out=shares[0], mode="clip")
    np.multiply(same.take(rows, axis=1), masses, out=shares[2:LAST])
    if len(beside):
        sizes = neighbourhoods(examples.keys.take(beside), examples.families.take(beside), facts)
        sizes *= examples.masses.take(beside)
        places = rows.searchsorted(beside)
        weighed = rows.take(places, mode="clip") == beside
        shares[LAST, places[weighed]] = sizes[weighed]
    return shares


def _step(bits: float) -> int:
    return int(min(max((bits - SHARED_BITS_MIN) // STEP_BITS, 0), STEPS - 1))


def _wanted(facts: Facts, settings: AdaptiveSettings) -> Shorts:
    """The four identities to look for, those that may be gone by and are known, one a row."""
    allowed = (settings.country, settings.network, settings.network, settings.network)
    wanted = [
        [number if may and number != UNKNOWN else NOBODY]
        for number, may in zip(identities_of(facts), allowed, strict=True)
    ]
    return np.array(wanted, dtype=np.int32)
