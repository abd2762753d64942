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
from ipmicra.delegation.adaptive.facts import UNKNOWN, Facts, shared_bits
from ipmicra.delegation.adaptive.settings import AdaptiveSettings

TIES = ("anywhere", "near", "country", "system", "organisation", "subnet", "address")
# What a tie is worth before anything was learnt, in sites' worth of credit. Only the order is meant:
# country is the best hint that registries have, a subnet says more than an organisation.
FIRST_CREDIT = (0.5, 1.0, 6.0, 1.0, 1.0, 2.0, 1.0)
# Of an address's neighbours each shared bit doubles the weight, beginning here: blocks larger than this
# are handed to registries and carriers, not to networks in one place.
SHARED_BITS_MIN = 12.0


class Prior(NamedTuple):
    """The heaviest examples: their rows (fixed ones first), weights, and what each tie gave each."""

    rows: Whole
    weights: Floats
    ties: Whole  # numbers of the ties that apply
    by_tie: Floats  # tie by example, already times the tie's worth


class Ties:
    """The learnt worth of each tie."""

    def __init__(self, settings: AdaptiveSettings) -> None:
        self.credit: Floats = np.array(FIRST_CREDIT)
        self._settings = settings

    def prior(self, facts: Facts, near: Floats | None, blocks: list[Examples]) -> Prior:
        """`near` spreads over the places around the site's country; None where nothing is known."""
        shares = [block_shares(facts, block, self._settings) for block in blocks]
        rows = np.concatenate(shares, axis=1)
        if near is not None:
            rows[1, : len(near)] = near
        totals = rows.sum(axis=1)
        ties = np.flatnonzero(totals > 0)
        worth = self.credit[ties] / self.credit[ties].sum()
        by_tie = rows[ties] * (worth / totals[ties])[:, None]
        weights = by_tie.sum(axis=0)
        heaviest = _heaviest(weights, self._settings.examples_max)
        kept = weights[heaviest]
        return Prior(heaviest, kept / kept.sum(), ties, by_tie[:, heaviest])

    def learn(self, prior: Prior, posterior: Floats) -> None:
        """One site's credit, shared out by what each tie gave to the examples that proved right."""
        given = prior.by_tie.sum(axis=0)
        credit = prior.by_tie @ (posterior / np.maximum(given, 1e-300))
        self.credit[prior.ties] += credit / max(float(credit.sum()), 1e-300)


def block_shares(facts: Facts, block: Examples, settings: AdaptiveSettings) -> Floats:
    """Tie by example: the example's mass where the two share the tie, else 0."""
    masses = block.masses[: block.count]
    shares = np.zeros((len(TIES), block.count))
    shares[0] = masses
    if settings.country and facts.country != UNKNOWN:
        shares[2] = masses * (block.countries == facts.country)
    if settings.network:
        if facts.system != UNKNOWN:
            shares[3] = masses * (block.systems == facts.system)
        if facts.organisation != UNKNOWN:
            shares[4] = masses * (block.organisations == facts.organisation)
        if facts.subnet != UNKNOWN:
            shares[5] = masses * (block.subnets == facts.subnet)
    if settings.prefix and facts.family:
        bits = shared_bits(block.keys, block.families, facts) - SHARED_BITS_MIN
        shares[6] = np.where(bits >= 0, masses * np.exp2(bits), 0.0)
    return shares


def _heaviest(weights: Floats, count: int) -> Whole:
    """The rows of the heaviest, in order of rows."""
    if len(weights) <= count:
        return np.arange(len(weights))
    return np.sort(np.argpartition(-weights, count)[:count])
