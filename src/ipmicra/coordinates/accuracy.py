"""Predicted and measured round trips -> how good the coordinates are: relative errors, median and tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Relative error |predicted - measured| / measured over all measured pairs."""

    pairs: int
    median: float
    ninetieth_percentile: float


def accuracy(predicted_ms: NDArray[np.float64], measured_ms: NDArray[np.float64]) -> Accuracy:
    """Over the pairs that were measured; nothing measured gives zero pairs and NaN errors."""
    usable = np.isfinite(measured_ms) & (measured_ms > 0) & np.isfinite(predicted_ms)
    errors = np.abs(predicted_ms[usable] - measured_ms[usable]) / measured_ms[usable]
    if not len(errors):
        return Accuracy(0, float("nan"), float("nan"))
    return Accuracy(len(errors), float(np.median(errors)), float(np.quantile(errors, 0.9)))
