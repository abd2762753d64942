"""Measurements of crawlers: remembered round trips, bounds by the speed of light, and trust in crawlers."""
