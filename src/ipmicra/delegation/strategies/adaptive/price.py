"""How far apart neighbouring crawlers are -> what a probe's price is among them.

Crawlers that stand close differ by little, so little is to be saved by a probe, and who is nearest hangs
on that little. Far apart, a millisecond decides nothing. The price goes with the spacing, so that the same
world with every round trip twice as long is asked the same probes. The set price holds where neighbours are
SPACING_MS apart.

Invariant: between half and twice the set price, so that neither a crowd nor a handful is priced out of all
proportion to a millisecond.
"""

from __future__ import annotations

SPACING_MS = 24.0
FACTOR_MIN, FACTOR_MAX = 0.5, 2.0


def price_factor(spacing_ms: float | None) -> float:
    """Of the set price; 1 where no one measured how far apart neighbours are."""
    if spacing_ms is None:
        return 1.0
    return min(max(spacing_ms / SPACING_MS, FACTOR_MIN), FACTOR_MAX)
