"""Where the sites of a subnet were found -> whether the next one may be taken for granted.

A university's subnet is in one place, a cloud's in fifty. After `n` sites of a subnet of which `d` were
not nearest to its owner, the next one is elsewhere with probability (d + 1) / (n + 2), Laplace's rule of
succession. Inheriting costs that times what a wrong crawler costs; where this is below the price of a
probe, asking is not worth it.

Invariant: bounded; only sites that were probed count, so that trust never feeds on itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ipmicra.addresses import AddressRange
from ipmicra.model.ids import CrawlerId

SUBNETS_MAX = 200_000  # subnets remembered, some 100 MB at most; the longest unchanged goes first


class SubnetAgreement:
    """Per subnet, by range: which crawlers its probed sites went to, and how many."""

    def __init__(self) -> None:
        self.counts: dict[AddressRange, Counter[CrawlerId]] = {}

    def count(self, subnet: AddressRange, crawler: CrawlerId) -> CrawlerId:
        """Count one more site of the subnet for this crawler. Returns the crawler with the most sites."""
        counts = self.counts.pop(subnet, None) or Counter()
        counts[crawler] += 1
        while len(self.counts) >= SUBNETS_MAX:
            del self.counts[next(iter(self.counts))]
        self.counts[subnet] = counts
        return max(counts, key=counts.__getitem__)

    def set(self, subnet: AddressRange, counts: Mapping[CrawlerId, int]) -> None:
        """Restore a count."""
        self.counts[subnet] = Counter(counts)

    def doubt(self, subnet: AddressRange, owner: CrawlerId) -> float:
        """The probability that the next site of the subnet is not the owner's."""
        counts = self.counts.get(subnet, Counter())
        known = counts.total()
        return (known - counts[owner] + 1) / (known + 2)

    def forget(self, crawler: CrawlerId) -> None:
        """Drop the counts of a crawler that has left."""
        self.counts = {subnet: counts for subnet, counts in self.counts.items() if crawler not in counts}
