"""How late packets left -> a histogram, and the verdict whether a measurement can be believed.

Bins double from an eighth of a millisecond. Invariant: a bin's lower bound counts as its lateness, so the
verdict never blames the router for more than was seen, and the greatest lateness is kept exactly.
"""

from __future__ import annotations

import msgspec

FIRST_BIN_MS = 0.125
BINS = 16  # up to 4 s and beyond


class Lateness(msgspec.Struct):
    """Counts by bin: bin 0 is below FIRST_BIN_MS, bin k below FIRST_BIN_MS * 2**k."""

    counts: list[int] = msgspec.field(default_factory=lambda: [0] * BINS)
    greatest_ms: float = 0.0

    def record(self, late_s: float) -> None:
        late_ms = late_s * 1e3
        number = int(late_ms / FIRST_BIN_MS).bit_length()
        self.counts[min(number, BINS - 1)] += 1
        if late_ms > self.greatest_ms:
            self.greatest_ms = late_ms

    @property
    def total(self) -> int:
        return sum(self.counts)

    def share_from(self, limit_ms: float) -> float:
        """The share of packets in bins that begin at this lateness or above."""
        late = sum(
            count for number, count in enumerate(self.counts) if number and lower_ms(number) >= limit_ms
        )
        return late / self.total if self.total else 0.0

    def percentile_ms(self, share: float) -> float:
        """The upper bound of the bin in which that share of packets is reached."""
        wanted, seen = share * self.total, 0
        for number, count in enumerate(self.counts):
            seen += count
            if seen >= wanted:
                return min(lower_ms(number + 1), self.greatest_ms)
        return self.greatest_ms

    def since(self, before: Lateness) -> Lateness:
        """The difference from an earlier report; the maximum is that of all."""
        counts = [now - then for now, then in zip(self.counts, before.counts, strict=True)]
        return Lateness(counts, self.greatest_ms)


def lower_ms(number: int) -> float:
    """Where a bin begins."""
    return FIRST_BIN_MS * (1 << number) / 2 if number else 0.0
