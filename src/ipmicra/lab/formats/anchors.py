"""nodes.csv and rtt.csv.gz -> a World: each node with an address is a place and a site's home.

    nodes.csv     probe_id [, ipv4, country, continent, lat, lon, ...]
    rtt.csv.gz    source_probe, target_probe, min_rtt_ms [, ...]        least directed round trips

Nodes without an address can be neither crawlers nor sites, and are left out; when no node has one, all
get addresses that no registry knows. Empty or negative round trips are pairs that were not measured.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import tables
from ipmicra.lab.world import (
    LatencyNode,
    Milliseconds,
    World,
    from_directed,
    homes_of_single_addresses,
    places_without_addresses,
)


def load(folder: Path) -> World:
    """The world of a folder in the form of anchors-world."""
    nodes = _nodes(tables.needed(folder, "nodes.csv"))
    addressed = {name: place for name, place in nodes.items() if place.address is not None}
    kept = addressed or dict(zip(nodes, places_without_addresses(list(nodes)), strict=True))
    directed_ms, strangers = _directed(tables.needed(folder, "rtt.csv"), kept, nodes)
    places = tuple(kept.values())
    return World(
        name=folder.name,
        places=places,
        homes=homes_of_single_addresses(places),
        round_trips_ms=from_directed(directed_ms),
        remarks=tuple(_remarks(len(nodes) - len(kept), strangers, bool(addressed))),
    )


def _nodes(path: Path) -> dict[str, LatencyNode]:
    nodes: dict[str, LatencyNode] = {}
    for row in tables.rows(path, ["probe_id"]):
        name = row.text("probe_id")
        if not name or name in nodes:
            raise OperatorFault(f"{row.where}: probe_id {name!r} is empty or was there before")
        nodes[name] = LatencyNode(
            name=name,
            address=row.address("ipv4"),
            country=row.text("country").upper(),
            continent=row.text("continent").upper(),
            latitude=row.number("lat"),
            longitude=row.number("lon"),
        )
    if not nodes:
        raise OperatorFault(f"{path} holds no node")
    return nodes


def _directed(
    path: Path, kept: dict[str, LatencyNode], nodes: dict[str, LatencyNode]
) -> tuple[Milliseconds, int]:
    """The matrix from source to target, and how many rows name a node that nodes.csv does not have."""
    index = {name: number for number, name in enumerate(kept)}
    directed_ms = np.full((len(kept), len(kept)), np.nan)
    strangers = 0
    for row in tables.rows(path, ["source_probe", "target_probe", "min_rtt_ms"]):
        source, target = row.text("source_probe"), row.text("target_probe")
        strangers += source not in nodes or target not in nodes
        measured_ms = row.round_trip_ms("min_rtt_ms")
        if source in index and target in index and measured_ms is not None:
            cell = index[source], index[target]
            directed_ms[cell] = np.fmin(directed_ms[cell], measured_ms)
    if not np.isfinite(directed_ms).any():
        raise OperatorFault(f"{path} holds no round trip between two nodes with an address in nodes.csv")
    return directed_ms, strangers


def _remarks(left_out: int, strangers: int, addressed: bool) -> list[str]:
    remarks = []
    if left_out:
        remarks.append(f"{left_out} nodes without an address left out")
    if not addressed:
        remarks.append("no node has an address: the registry tree can say nothing of them")
    if strangers:
        remarks.append(f"{strangers} round trips name a node that nodes.csv does not have")
    return remarks
