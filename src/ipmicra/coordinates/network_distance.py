"""Times measured on a site -> its network distance in milliseconds (CAN-on-NC paper, formulas 1 and 2).

The distance is the median round trip plus the time that the pages of one visit take to come down: the
time observed for the probe's pages, scaled from their bytes to the bytes of an average visit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from ipmicra.errors import OperatorFault


def download_ms(
    probe_ms: float, probe_page_bytes: Sequence[int], mean_page_bytes: float, pages_a_visit: int
) -> float:
    """Formula 2: time to download `pages_a_visit` average pages in a pipeline.

    `probe_ms` ran from the first byte to the last of the pages in `probe_page_bytes`.
    """
    fetched_bytes = sum(probe_page_bytes)
    if fetched_bytes <= 0:
        return 0.0
    return probe_ms / fetched_bytes * mean_page_bytes * pages_a_visit


def network_distance_ms(round_trips_ms: Sequence[float], download_ms: float = 0.0) -> float:
    """Formula 1. Timings that are not numbers, or not positive, are not measurements."""
    usable = [value for value in round_trips_ms if math.isfinite(value) and value > 0]
    if not usable:
        raise OperatorFault("no usable round trip to compute a network distance from")
    return median(usable) + (download_ms if math.isfinite(download_ms) and download_ms > 0 else 0.0)
