"""Which site links to which -> how much each of them counts.

Invariant: pure, and bounded: a fixed number of rounds over the pairs of sites. This is PageRank (Brin and
Page 1998) between sites: a site passes on what it has in shares that grow with the logarithm of its
links, so that a hundred links in a footer are not a hundred votes; links within a site say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

DAMPING = 0.85  # as in the paper: with 15 % a surfer begins anew somewhere
ROUNDS = 30  # after which a rank is right within 0.85^30, less than 1 %

Pairs: TypeAlias = Sequence[tuple[int, int, int]]  # source, target, links
_Column: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
_Keys: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


def site_authority(pairs: Pairs) -> dict[int, float]:
    """The logarithm of how many times a site's rank is the mean: 0.7 for an average one, 0 at the least."""
    if not pairs:
        return {}
    source, target, links = np.array(pairs, dtype=np.int64).T
    sites, places = np.unique(np.concatenate([source, target]), return_inverse=True)
    source, target = places[: len(pairs)], places[len(pairs) :]
    rank = _ranks(len(sites), source, target, np.log1p(links))
    values = np.log1p(rank * len(sites))
    return dict(zip(sites.tolist(), values.tolist(), strict=True))


def _ranks(count: int, source: _Keys, target: _Keys, weight: _Column) -> _Column:
    leaving = np.bincount(source, weight, count)
    share = weight / leaving[source]
    rank = np.full(count, 1 / count)
    for _ in range(ROUNDS):
        passed_on = np.bincount(target, rank[source] * share, count)
        lost = rank[leaving == 0].sum()  # of sites without outgoing links: shared by all sites
        rank = (1 - DAMPING) / count + DAMPING * (passed_on + lost / count)
    return rank


class SiteAuthority:
    """Authority by site, looked up for many sites at once; an unknown site has none."""

    def __init__(self, values: Mapping[int, float]) -> None:
        self._sites = np.array(sorted(values), dtype=np.int64)
        self._values = np.array([values[site] for site in sorted(values)], dtype=np.float64)

    def of(self, sites: _Keys) -> _Column:
        if not len(self._sites):
            return np.zeros(len(sites))
        places = np.minimum(self._sites.searchsorted(sites), len(self._sites) - 1)
        return np.where(self._sites[places] == sites, self._values[places], 0.0)
