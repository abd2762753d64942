"""A site's facts against those of the examples -> how likely each example is to describe the site.

The prior is a mixture of *ties*: somebody anywhere, near the country, in the country, in the same
system, organisation, subnet, or at a neighbouring address. Each tie spreads one unit over the examples
that share it. How much each tie is worth is learnt on line: after every site, the ties that led to the
examples which explained its answers are credited. So a cloud's organisation, which is everywhere, loses
weight by itself, and a tie of many places spreads over all of them.

Law: a prior adds up to one, and no example that exists is impossible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipmicra.delegation.adaptive.arrays import Floats, Whole
from ipmicra.delegation.adaptive.examples import Examples
from ipmicra.delegation.adaptive.facts import SHARED_BITS_MIN, UNKNOWN, Facts, neighbourhoods
from ipmicra.delegation.adaptive.settings import AdaptiveSettings

# A subnet and a neighbouring address say the more the smaller the block that is shared, so each is four
# ties, by the length of the shared prefix in steps of four bits from SHARED_BITS_MIN on.
TIES = (
    *("anywhere", "near", "country", "system", "organisation"),
    *("wide subnet", "subnet", "small subnet", "tiny subnet"),
    *("far address", "address", "close address", "next address"),
)
SUBNET, ADDRESS, STEPS, STEP_BITS = 5, 9, 4, 4.0
# What a tie is worth before anything was learnt. Only the order is meant: country is the best hint that
# registries have, and a small block says more than a large one.
FIRST_WORTH = np.array([0.5, 1, 6, 1, 1, 0.5, 1, 2, 4, 0.5, 1, 2, 4])
FIRST_SITES = 12.0  # what that is worth against sites seen
# Examples times crawlers that are weighed for a site; more: slower, hardly better.
CELLS_MAX = 64_000
EXAMPLES_MIN = 64
NOBODY = -2  # shared with no example


class Prior(NamedTuple):
    """The heaviest examples: their rows (fixed ones first), weights, and what each tie gave each."""

    rows: Whole
    weights: Floats
    ties: Whole  # which of TIES apply
    by_tie: Floats  # tie by example, already times the tie's worth


class Ties:
    """The learnt worth of each tie: how often it was right, of the times it could have been."""

    def __init__(self, settings: AdaptiveSettings) -> None:
        self.right: Floats = FIRST_SITES * FIRST_WORTH / FIRST_WORTH[:SUBNET].sum()
        self.chances: Floats = np.full(len(TIES), FIRST_SITES)
        self._settings = settings

    def prior(self, facts: Facts, near: Floats | None, blocks: list[Examples]) -> Prior:
        """`near` spreads over the places around the site's country; None where nothing is known."""
        shares = np.concatenate([block_shares(facts, each, self._settings) for each in blocks], axis=1)
        if near is not None:
            shares[1, : len(near)] = near
        totals = shares.sum(axis=1)
        applying = np.flatnonzero(totals > 0)
        ties = _sorted_by_size(applying, facts, shares)
        worth = self.right[ties] / self.chances[ties]
        factors = worth / worth.sum() / totals[applying]
        weights = factors @ shares[applying]
        heaviest = _heaviest(weights, self._count(blocks))
        by_tie = shares[applying[:, None], heaviest] * factors[:, None]
        kept = weights[heaviest]
        return Prior(heaviest, kept / kept.sum(), ties, by_tie)

    def _count(self, blocks: list[Examples]) -> int:
        affordable = CELLS_MAX // max(1, blocks[0].crawlers)
        return min(self._settings.examples_max, max(EXAMPLES_MIN, affordable))

    def learn(self, prior: Prior, posterior: Floats) -> None:
        """One site, shared out by what each tie gave to the examples that proved right.

        Expectation and maximisation for a mixture of which not all parts apply each time: a tie's
        chances are counted against the worth of all ties that applied with it.
        """
        credit = prior.by_tie @ (posterior / np.maximum(prior.by_tie.sum(axis=0), 1e-300))
        worth = self.right[prior.ties] / self.chances[prior.ties]
        self.right[prior.ties] += credit / max(float(credit.sum()), 1e-300)
        self.chances[prior.ties] += 1.0 / worth.sum()


def _sorted_by_size(applying: Whole, facts: Facts, shares: Floats) -> Whole:
    """The rows of `shares` that apply -> ties, the subnet and the address by how much is shared."""
    ties = applying.copy()
    ties[applying == SUBNET] = SUBNET + _step(facts.subnet_bits)
    bits = np.log2(max(float(shares[-1].max(initial=0.0)), 1.0)) + SHARED_BITS_MIN
    ties[applying == len(shares) - 1] = ADDRESS + _step(float(bits))
    return ties


def _step(bits: float) -> int:
    return int(min(max((bits - SHARED_BITS_MIN) // STEP_BITS, 0), STEPS - 1))


def block_shares(facts: Facts, block: Examples, settings: AdaptiveSettings) -> Floats:
    """Kind of tie by example: the example's mass where the two share it, else 0."""
    masses = block.masses[: block.count]
    shares = np.zeros((SUBNET + 2, block.count))
    shares[0] = masses
    wanted = np.array([_wanted(facts, settings)]).T
    np.multiply(block.identities == wanted, masses, out=shares[2 : SUBNET + 1])
    if settings.prefix and facts.family:
        shares[-1] = masses * neighbourhoods(block.keys, block.families, facts)
    return shares


def _wanted(facts: Facts, settings: AdaptiveSettings) -> tuple[int, ...]:
    """The four identities to look for, those that may be gone by and are known."""
    allowed = (settings.country, settings.network, settings.network, settings.network)
    return tuple(
        number if may and number != UNKNOWN else NOBODY
        for number, may in zip(facts[:4], allowed, strict=True)
    )


def _heaviest(weights: Floats, count: int) -> Whole:
    """The rows of the heaviest, in order of rows."""
    if len(weights) <= count:
        return np.arange(len(weights))
    return np.sort(np.argpartition(-weights, count)[:count])
