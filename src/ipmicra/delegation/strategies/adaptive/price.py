"""The distance between neighbouring crawlers -> the price of a probe among them.

Crawlers that are close together differ by little, so a probe saves little, and this little decides which
is nearest. Far apart, a millisecond does not matter. The price is proportional to the spacing, so that
the same world with every round trip twice as long gets the same probes. The configured price applies
where neighbours are SPACING_MS apart.

Invariant: between half and twice the configured price, so that neither many nor few crawlers make it
meaningless in milliseconds.
"""

from __future__ import annotations

SPACING_MS = 24.0
FACTOR_MIN, FACTOR_MAX = 0.5, 2.0


def price_factor(spacing_ms: float | None) -> float:
    """The factor on the configured price; 1 if the spacing was not measured."""
    if spacing_ms is None:
        return 1.0
    return min(max(spacing_ms / SPACING_MS, FACTOR_MIN), FACTOR_MAX)
