"""nodes.csv and edges.csv of a graph with link latencies -> a World of shortest paths.

    nodes.csv    node, kind (T transit, S stub) [, domain]
    edges.csv    a, b, latency_ms       one way

A round trip is twice the shortest path. Crawlers and sites stand on stub nodes; transit nodes carry.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import tables
from ipmicra.lab.world import (
    Milliseconds,
    World,
    homes_of_single_addresses,
    places_without_addresses,
)

TRANSIT = "T"


def load(folder: Path) -> World:
    """The world of a folder in the form of transit-stub."""
    kinds = _kinds(tables.needed(folder, "nodes.csv"))
    one_way_ms = _shortest_ms(*_edges(tables.needed(folder, "edges.csv"), list(kinds)), len(kinds))
    stubs = [number for number, kind in enumerate(kinds.values()) if kind != TRANSIT]
    if not stubs:
        raise OperatorFault(f"{folder}: nodes.csv holds no stub node")
    round_trips_ms = 2.0 * one_way_ms[np.ix_(stubs, stubs)]
    round_trips_ms[~np.isfinite(round_trips_ms)] = np.nan
    names = list(kinds)
    places = places_without_addresses([names[number] for number in stubs])
    return World(folder.name, places, homes_of_single_addresses(places), round_trips_ms)


def _kinds(path: Path) -> dict[str, str]:
    return {row.text("node"): row.text("kind").upper() for row in tables.rows(path, ["node", "kind"])}


def _edges(path: Path, names: list[str]) -> tuple[list[float], list[tuple[int, int]]]:
    index = {name: number for number, name in enumerate(names)}
    ends: list[tuple[int, int]] = []
    latencies_ms: list[float] = []
    for row in tables.rows(path, ["a", "b", "latency_ms"]):
        ends.append((_node(row, "a", index), _node(row, "b", index)))
        latency_ms = row.round_trip_ms("latency_ms")
        if latency_ms is None:
            raise OperatorFault(f"{row.where}: an edge needs a latency of 0 ms or more")
        latencies_ms.append(latency_ms)
    if not ends:
        raise OperatorFault(f"{path} holds no edge")
    return latencies_ms, ends


def _shortest_ms(latencies_ms: list[float], ends: list[tuple[int, int]], count: int) -> Milliseconds:
    # Imported here: scipy's graphs take longer to import than most worlds to load.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    sources, targets = np.array(ends).T
    graph = csr_array((np.array(latencies_ms), (sources, targets)), shape=(count, count))
    return np.asarray(shortest_path(graph, directed=False), dtype=np.float64)


def _node(row: tables.CsvRow, column: str, index: dict[str, int]) -> int:
    name = row.text(column)
    if name not in index:
        raise OperatorFault(f"{row.where}: nodes.csv has no node {name!r}")
    return index[name]
