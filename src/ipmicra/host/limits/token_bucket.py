"""Usage as it happens -> how long to wait, so that the mean stays below a rate.

Used for bytes per second and for the CPU share. Invariant: reads no clock. A pause earns at most
`BURST_SECONDS` of credit.
"""

from __future__ import annotations

BURST_SECONDS = 1.0


class TokenBucket:
    """A debt that time pays off. A rate of 0 means no limit."""

    def __init__(self, rate_per_second: float) -> None:
        self.rate_per_second = rate_per_second
        self._paid_until = float("-inf")

    def consume(self, amount: float, now: float) -> None:
        if self.rate_per_second:
            begin = max(self._paid_until, now - BURST_SECONDS)
            self._paid_until = begin + amount / self.rate_per_second

    def seconds_to_wait(self, now: float) -> float:
        """Seconds until the debt is paid off."""
        return max(0.0, self._paid_until - now) if self.rate_per_second else 0.0
