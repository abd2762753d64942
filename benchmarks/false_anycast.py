"""How often would ordinary targets be taken for anycast, for want of a straight route?

Draws triples (two crawlers, one target) from the latency data under IPMICRA_DATA and counts those whose
two round trips add up to less than the bound of `ipmicra.delegation.evidence.light_bounds`: by the
crawlers' positions where known, else by their mutual round trip. No target in these data is anycast, so all
are false alarms.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ipmicra.delegation.crawlers import GeoPosition
from ipmicra.delegation.evidence.light_bounds import FIBRE_KM_PER_ROUND_TRIP_MS, SHORTCUT_SHARE
from ipmicra.lab.formats import load_world
from ipmicra.lab.world import Milliseconds, World

TRIPLES = 1_000_000
SEED = 1
WORLDS = ("anchors-world", "cloud", "planetlab-490")


def positions_bound_ms(world: World) -> Milliseconds:
    """For each pair of places what light in fibre needs; NaN where a position is unknown."""
    places = [
        GeoPosition(place.latitude, place.longitude)
        if place.latitude is not None and place.longitude is not None
        else None
        for place in world.places
    ]
    return (
        np.array(
            [[a.distance_km(b) if a and b else np.nan for b in places] for a in places], dtype=np.float64
        )
        / FIBRE_KM_PER_ROUND_TRIP_MS
    )


def alarms(world: World, bound_ms: Milliseconds) -> float | None:
    """The share of drawn triples that break the bound; None where it is nowhere known."""
    trips = world.round_trips_ms
    one, other, target = np.random.default_rng(SEED).integers(0, len(trips), (3, TRIPLES))
    apart = (one != other) & (other != target) & (one != target)
    sums = trips[one, target] + trips[other, target]
    known = apart & np.isfinite(sums) & np.isfinite(bound_ms[one, other])
    return float((sums < bound_ms[one, other])[known].mean()) if known.any() else None


def main() -> None:
    data = os.environ.get("IPMICRA_DATA")
    if not data:
        Console(stderr=True).print("set IPMICRA_DATA to a folder of latency data")
        return
    table = Table(
        "world", "by positions", "by mutual round trips", title="ordinary targets taken for anycast"
    )
    for name in WORLDS:
        if (Path(data) / name).is_dir():
            world = load_world(Path(data) / name)
            found = (
                alarms(world, positions_bound_ms(world)),
                alarms(world, SHORTCUT_SHARE * world.round_trips_ms),
            )
            table.add_row(name, *("unknown" if share is None else f"{share:.4%}" for share in found))
    Console().print(table)


if __name__ == "__main__":
    main()
