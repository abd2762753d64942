"""Round trips of the same pairs hour by hour -> a World of each pair's least, and all hours for their drift.

*_probes.csv             id, ipv4 [, country, latitude, longitude, ...]
*_rtt_hourly.csv[.gz]    source_id, target_id, rtt_ms [, hour_utc, ...]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import tables
from ipmicra.lab.world import LatencyNode, World, from_directed, homes_of_single_addresses

PROBES = "probes.csv"
ROUND_TRIPS = "rtt_hourly.csv"


def is_hourly(folder: Path) -> bool:
    return tables.ending(folder, PROBES) is not None and tables.ending(folder, ROUND_TRIPS) is not None


def load(folder: Path) -> World:
    """The world of a folder in the form of anchors-hourly: the least of all hours."""
    places = _places(tables.needed_ending(folder, PROBES))
    index = {place.name: number for number, place in enumerate(places)}
    directed_ms = np.full((len(places), len(places)), np.nan)
    for (source, target), hours_ms in hours_by_pair(folder).items():
        if source in index and target in index:
            directed_ms[index[source], index[target]] = min(hours_ms)
    return World(folder.name, places, homes_of_single_addresses(places), from_directed(directed_ms))


def hours_by_pair(folder: Path) -> dict[tuple[str, str], list[float]]:
    """The measurements of each pair, source first, in the order of the file."""
    hours: dict[tuple[str, str], list[float]] = {}
    for row in tables.rows(
        tables.needed_ending(folder, ROUND_TRIPS), ["source_id", "target_id", "rtt_ms"]
    ):
        value_ms = row.round_trip_ms("rtt_ms")
        if value_ms is not None:
            hours.setdefault((row.text("source_id"), row.text("target_id")), []).append(value_ms)
    return hours


def _places(path: Path) -> tuple[LatencyNode, ...]:
    places = [
        LatencyNode(
            name=row.text("id"),
            address=row.address("ipv4"),
            country=row.text("country"),
            latitude=row.number("latitude"),
            longitude=row.number("longitude"),
        )
        for row in tables.rows(path, ["id", "ipv4"])
    ]
    addressed = tuple(place for place in places if place.address is not None)
    if not addressed:
        raise OperatorFault(f"{path} holds no probe with an address")
    return addressed
