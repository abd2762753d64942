"""Prefixes with regions, and round trips between regions -> a World: one organisation, many places.

    *_prefix_region.csv[.gz]    prefix, region
    *_rtt_ms_p50.csv[.gz]       source, target, rtt_ms

A region is a place; each of its prefixes is a home for sites. The round trip is per region: crawler and
site in one region are WITHIN_REGION_MS apart. A region without prefixes or round trips is left out. A
crawler in a region has the first address of the region's first prefix.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ipmicra.addresses import AddressRange
from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import tables
from ipmicra.lab.world import Home, LatencyNode, Milliseconds, World, from_directed

# Data centres of one region lie within about 100 km: 1 ms of light in fibre, there and back.
WITHIN_REGION_MS = 1.0

PREFIXES = "prefix_region.csv"
ROUND_TRIPS = "rtt_ms_p50.csv"


def is_cloud(folder: Path) -> bool:
    return tables.ending(folder, PREFIXES) is not None and tables.ending(folder, ROUND_TRIPS) is not None


def load(folder: Path) -> World:
    """The world of a folder in the form of cloud."""
    prefixes = _prefixes(tables.needed_ending(folder, PREFIXES))
    measured = _measured(tables.needed_ending(folder, ROUND_TRIPS))
    regions = sorted(set(prefixes) & {region for pair in measured for region in pair})
    if not regions:
        raise OperatorFault(f"{folder}: no region has both prefixes and round trips")
    places = tuple(LatencyNode(region, prefixes[region][0].first_address()) for region in regions)
    homes = tuple(
        Home(prefix, index) for index, region in enumerate(regions) for prefix in prefixes[region]
    )
    left_out = len(set(prefixes) ^ set(regions))
    remarks = (f"{left_out} regions without round trips left out",) if left_out else ()
    return World(folder.name, places, homes, _matrix(regions, measured), remarks)


def _prefixes(path: Path) -> dict[str, list[AddressRange]]:
    """IPv4 prefixes by region, in the order of the file."""
    prefixes: dict[str, list[AddressRange]] = {}
    for row in tables.rows(path, ["prefix", "region"]):
        try:
            prefix = AddressRange.parse(row.text("prefix"))
        except ValueError as error:
            raise OperatorFault(f"{row.where}: {error}") from None
        if prefix.family == 4:
            prefixes.setdefault(row.text("region"), []).append(prefix)
    return prefixes


def _measured(path: Path) -> dict[tuple[str, str], float]:
    measured: dict[tuple[str, str], float] = {}
    for row in tables.rows(path, ["source", "target", "rtt_ms"]):
        value_ms = row.round_trip_ms("rtt_ms")
        if value_ms is not None:
            measured[row.text("source"), row.text("target")] = value_ms
    return measured


def _matrix(regions: list[str], measured: dict[tuple[str, str], float]) -> Milliseconds:
    index = {region: number for number, region in enumerate(regions)}
    directed_ms = np.full((len(regions), len(regions)), np.nan)
    for (source, target), value_ms in measured.items():
        if source in index and target in index:
            directed_ms[index[source], index[target]] = value_ms
    return from_directed(directed_ms, own_ms=WITHIN_REGION_MS)
