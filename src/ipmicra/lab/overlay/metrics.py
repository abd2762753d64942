"""The crawler of each site -> the paper's figures: distances, load variation, distance by joining decile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ipmicra.lab.overlay.setup import OverlaySetup

DECILES = 10
MetricValues = NDArray[np.float64]
MetricRows = NDArray[np.int64]


def distances_ms(scene: OverlaySetup, crawler: MetricRows) -> MetricValues:
    """Euclidean, by the points before clamping, as the paper evaluates."""
    return np.asarray(np.linalg.norm(scene.peer_points[crawler] - scene.site_points, axis=1))


def true_ms(scene: OverlaySetup, crawler: MetricRows) -> MetricValues:
    """Round trips as measured."""
    return np.asarray(scene.round_trips_ms[crawler, np.arange(scene.sites)])


def load_variation(loads: MetricValues) -> float:
    """Standard deviation of relative loads over their mean (formula 6)."""
    return float(loads.std(ddof=1) / loads.mean()) if len(loads) > 1 and loads.mean() > 0 else 0.0


def loads(scene: OverlaySetup, crawler: MetricRows) -> MetricValues:
    return np.bincount(crawler, minlength=scene.peers).astype(np.float64)


def by_decile_ms(scene: OverlaySetup, crawler: MetricRows) -> MetricValues:
    """The mean distance of the sites of each tenth of the peers, in the order of joining (figure 12)."""
    decile = crawler * DECILES // scene.peers
    lengths = distances_ms(scene, crawler)
    return np.array(
        [
            lengths[decile == tenth].mean() if (decile == tenth).any() else np.nan
            for tenth in range(DECILES)
        ]
    )


def nearest_peers(scene: OverlaySetup) -> MetricRows:
    """By the coordinates: the bound that no assignment can beat on Euclidean distance."""
    offsets = scene.site_points[:, None, :] - scene.peer_points[None, :, :]
    return np.asarray(np.argmin((offsets**2).sum(axis=2), axis=1))
