"""A site's facts against those of the examples -> how likely each example is to describe the site.

The prior is a mixture of *ties*: somebody anywhere, near the country, in the country, in the same
system, organisation, subnet, or at a neighbouring address. Each tie spreads one unit over the examples
that share it. How much each tie is worth is learnt on line: after every site, the ties that led to the
examples which explained its answers are credited. So a cloud's organisation, which is everywhere, loses
weight by itself, and a tie of many places spreads over all of them.

Law: a prior adds up to one, and no example that is weighed is impossible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Shorts, Singles, Whole
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
FIRST_WORTH = np.array([0.5, 1, 6, 1, 1, 0.5, 1, 2, 4, 0.5, 1, 2, 4])
FIRST_SITES = 12.0  # what that is worth against sites seen
# Examples times crawlers that are weighed for a site; more: slower, hardly better.
CELLS_MAX = 64_000
EXAMPLES_MIN = 64
NOBODY = -2  # shared with no example


class Prior(NamedTuple):
    """The examples weighed: their rows in order, weights, and what each tie gave each."""

    rows: Whole
    weights: Singles
    ties: Whole  # which of TIES apply
    by_tie: Singles  # tie by example, already times the tie's worth


class Ties:
    """The learnt worth of each tie: how often it was right, of the times it could have been."""

    def __init__(self, settings: AdaptiveSettings) -> None:
        self.right: Floats = FIRST_SITES * FIRST_WORTH / FIRST_WORTH[:SUBNET].sum()
        self.chances: Floats = np.full(len(TIES), FIRST_SITES)
        self._settings = settings

    def prior(self, facts: Facts, near: Near | None, examples: Examples) -> Prior:
        """`near`: the places around the site's country; None where nothing is known."""
        wanted = _wanted(facts, self._settings)
        rows = weighable(facts, wanted, near, examples, self._count(examples))
        shares = self._shares(facts, wanted, near, examples, rows)
        weighed = np.add.reduce(shares, axis=1)
        applying = weighed.nonzero()[0]
        ties = _sorted_by_size(applying, facts, shares)
        totals = weighed.copy()
        totals[0] = examples.mass  # who is not weighed takes its part of these two along
        totals[1] = max(totals[1], 0.0 if near is None else near.total)
        factors = self.right.take(ties) / (self.chances.take(ties) * totals.take(applying))
        factors /= factors @ weighed.take(applying)
        by_tie = shares.take(applying, axis=0) * factors.astype(np.float32)[:, None]
        return Prior(rows, np.add.reduce(by_tie, axis=0), ties, by_tie)

    def _shares(
        self, facts: Facts, wanted: Shorts, near: Near | None, examples: Examples, rows: Whole
    ) -> Singles:
        """Kind of tie by example: the example's mass where the two share it, else 0."""
        masses = examples.masses.take(rows)
        shares = np.zeros((LAST + 1, len(rows)), dtype=np.float32)
        shares[0] = masses
        if near is not None:
            fixed = rows.searchsorted(examples.fixed)
            near.shares.take(rows[:fixed], out=shares[1, :fixed])
        same = examples.identities.take(rows, axis=1) == wanted
        np.multiply(same, masses, out=shares[2:LAST])
        if self._settings.prefix and facts.family:
            sizes = neighbourhoods(examples.keys.take(rows), examples.families.take(rows), facts)
            np.multiply(sizes, masses, out=shares[LAST])
        return shares

    def _count(self, examples: Examples) -> int:
        affordable = CELLS_MAX // max(1, examples.crawlers)
        return min(self._settings.examples_max, max(EXAMPLES_MIN, affordable))

    def learn(self, prior: Prior, posterior: Singles) -> None:
        """One site, shared out by what each tie gave to the examples that proved right.

        Expectation and maximisation for a mixture of which not all parts apply each time: a tie's
        chances are counted against the worth of all ties that applied with it.
        """
        credit = prior.by_tie @ (posterior / np.maximum(prior.weights, 1e-30))
        worth = self.right.take(prior.ties) / self.chances.take(prior.ties)
        self.right[prior.ties] += credit / max(float(credit.sum()), 1e-30)
        self.chances[prior.ties] += 1.0 / worth.sum()


def _sorted_by_size(applying: Whole, facts: Facts, shares: Singles) -> Whole:
    """The rows of `shares` that apply -> ties, the subnet and the address by how much is shared."""
    ties = applying.tolist()
    if ties[-1] == LAST:
        bits = np.log2(max(float(shares[LAST].max()), 1.0)) + SHARED_BITS_MIN
        ties[-1] = ADDRESS + _step(float(bits))
    if SUBNET in ties:
        ties[ties.index(SUBNET)] = SUBNET + _step(facts.subnet_bits)
    return np.array(ties, dtype=np.int64)


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
