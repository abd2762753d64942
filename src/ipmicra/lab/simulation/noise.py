"""Round trips of the same pairs hour by hour -> how far one probe strays above the least round trip.

A probe's answer is the true round trip plus a jitter drawn from what was seen: the hour's round trip less
the pair's least of the day, all pairs and hours pooled. The pool is kept as QUANTILES equal steps of its
distribution, so that drawing is one index. Truth, and so every judgement, stays free of jitter.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import hourly
from ipmicra.lab.world import Milliseconds

QUANTILES = 10_000
HOURS_SEEN_MIN = 6  # with fewer hours of a pair its minimum is unknown


@dataclass(frozen=True)
class Jitter:
    """The distribution of what is added to a round trip, as equal steps of it, least first."""

    steps_ms: Milliseconds

    def drawn_ms(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Milliseconds:
        return self.steps_ms[generator.integers(len(self.steps_ms), size=shape)]


def load_jitter(folder: Path) -> Jitter:
    """The jitter of a folder in the form of anchors-hourly."""
    above_ms = _above_least(hourly.hours_by_pair(folder))
    if not len(above_ms):
        raise OperatorFault(f"{folder}: no pair was measured in {HOURS_SEEN_MIN} hours or more")
    return jitter_of(above_ms)


def jitter_of(above_ms: Milliseconds) -> Jitter:
    """The jitter that strays like these samples."""
    return Jitter(np.asarray(np.quantile(above_ms, np.linspace(0, 1, QUANTILES)), dtype=np.float64))


def made_up_jitter() -> Jitter:
    """For worlds without data: half a ms on average, one probe in fifty 20 ms late (exponential both)."""
    shares = (np.arange(QUANTILES) + 0.5) / QUANTILES
    usual_ms = -0.5 * np.log1p(-shares)
    late_ms = -20.0 * np.log1p(-shares[::50])
    return jitter_of(np.concatenate([usual_ms, late_ms]))


def _above_least(hours: dict[tuple[str, str], list[float]]) -> Milliseconds:
    seen = [np.array(values) for values in hours.values() if len(values) >= HOURS_SEEN_MIN]
    return np.concatenate([values - values.min() for values in seen]) if seen else np.zeros(0)
