"""How far apart neighbouring crawlers are -> what a probe's price is among them.

Crawlers that stand close differ by little, so little is to be saved by a probe, and who is nearest hangs
on that little. Far apart, a millisecond decides nothing. The set price holds for SPACING_MS, which is a
dozen crawlers over all continents; it moves with the root of the spacing, so that neither a crowd nor a
handful is priced out of all proportion to a millisecond.

Law: between half and twice the set price.
"""

from __future__ import annotations

import math

SPACING_MS = 30.0
FACTOR_MIN, FACTOR_MAX = 0.5, 2.0


def price_factor(spacing_ms: float | None) -> float:
    """Of the set price; 1 where nobody measured how far apart neighbours are."""
    if spacing_ms is None:
        return 1.0
    return min(max(math.sqrt(spacing_ms / SPACING_MS), FACTOR_MIN), FACTOR_MAX)
