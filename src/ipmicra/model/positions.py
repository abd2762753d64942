"""A position as its owner wrote it -> the position that others are told: rounded to a grid.

Invariant: pure. No position leaves a host, and none is shown on a page, more exactly than to a tenth of a
degree, which is 11 km from south to north: a town, not a house.
"""

from __future__ import annotations

GRID_DEGREES_DECIMALS = 1
BLUR_KM_MAX = 8.0  # from a place to the middle of its square: half a diagonal at the equator


def blurred(position: tuple[float, float]) -> tuple[float, float]:
    """Latitude and longitude in degrees, at the nearest point of the grid."""
    latitude, longitude = position
    return round(latitude, GRID_DEGREES_DECIMALS), round(longitude, GRID_DEGREES_DECIMALS)
