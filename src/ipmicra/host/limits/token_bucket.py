"""What was used, as it is used -> how long to wait, so that the mean stays below a rate.

The same for bytes a second and for the share of a processor. Law: no clock of its own. A pause earns no
credit beyond `BURST_SECONDS` of the rate.
"""

from __future__ import annotations

BURST_SECONDS = 1.0


class TokenBucket:
    """A debt that time pays off. A rate of 0 is without limit."""

    def __init__(self, rate_per_second: float) -> None:
        self.rate_per_second = rate_per_second
        self._paid_until = float("-inf")

    def consume(self, amount: float, now: float) -> None:
        if self.rate_per_second:
            begin = max(self._paid_until, now - BURST_SECONDS)
            self._paid_until = begin + amount / self.rate_per_second

    def seconds_to_wait(self, now: float) -> float:
        """Until the debt is paid off."""
        return max(0.0, self._paid_until - now) if self.rate_per_second else 0.0
