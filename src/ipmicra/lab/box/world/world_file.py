"""world.toml and its CSV of latencies -> a checked BoxWorld, and back.

    latencies.csv     from, to, round_trip_ms      names of places; one direction is enough

Invariant: a file that does not describe a world is the operator's fault, and the message says where.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np

from ipmicra.errors import OperatorFault
from ipmicra.lab.box.world.box_world import BoxPlace, BoxWorld, Formula, WorldFile
from ipmicra.lab.box.world.validation import check
from ipmicra.lab.formats import tables
from ipmicra.lab.loopback.layout import great_circle_ms
from ipmicra.lab.world import Milliseconds, from_directed

LATENCIES = "latencies.csv"
SAME_PLACE_MS = 0.5


def read_world(path: Path) -> BoxWorld:
    """The world that the file describes."""
    try:
        file = msgspec.toml.decode(path.read_bytes(), type=WorldFile)
    except OSError as error:
        raise OperatorFault(f"reading the world {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise OperatorFault(f"the world {path}: {error}") from error
    if file.latencies:
        round_trips_ms = _from_table(path.parent / file.latencies, file.places)
    else:
        round_trips_ms = by_formula(file.places, file.formula)
    world = BoxWorld(file, round_trips_ms)
    check(world)
    return world


def write_world(path: Path, world: BoxWorld) -> None:
    """The file, and its latencies beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = msgspec.structs.replace(world.file, latencies=LATENCIES)
    path.write_text(_toml(msgspec.to_builtins(file)), encoding="utf-8")
    names = [place.name for place in file.places]
    with (path.parent / LATENCIES).open("w", newline="", encoding="utf-8") as out:
        rows = csv.writer(out)
        rows.writerow(["from", "to", "round_trip_ms"])
        for one, other in zip(*np.triu_indices(len(names)), strict=True):
            if np.isfinite(world.round_trips_ms[one, other]):
                rows.writerow([names[one], names[other], f"{world.round_trips_ms[one, other]:.3f}"])


def by_formula(places: tuple[BoxPlace, ...], formula: Formula) -> Milliseconds:
    """Round trips from positions; NaN where a position is missing."""
    found = np.full((len(places), len(places)), np.nan)
    for here, one in enumerate(places):
        for there, other in enumerate(places):
            if None not in (one.latitude, one.longitude, other.latitude, other.longitude):
                fibre_ms = great_circle_ms(
                    (one.latitude or 0.0, one.longitude or 0.0),
                    (other.latitude or 0.0, other.longitude or 0.0),
                )
                found[here, there] = fibre_ms * formula.detour + formula.access_ms
    np.fill_diagonal(found, SAME_PLACE_MS)
    return found


def _from_table(path: Path, places: tuple[BoxPlace, ...]) -> Milliseconds:
    numbers = {place.name: number for number, place in enumerate(places)}
    found = np.full((len(places), len(places)), np.nan)
    own_ms: dict[int, float] = {}
    for row in tables.rows(path, ["from", "to", "round_trip_ms"]):
        ends = [numbers.get(row.text(column)) for column in ("from", "to")]
        measured_ms = row.round_trip_ms("round_trip_ms")
        if ends[0] is None or ends[1] is None:
            raise OperatorFault(f"{row.where}: a place that the world does not have")
        if measured_ms is not None:
            found[ends[0], ends[1]] = measured_ms
            if ends[0] == ends[1]:
                own_ms[ends[0]] = measured_ms
    symmetric = from_directed(found, SAME_PLACE_MS)
    for number, ms in own_ms.items():
        symmetric[number, number] = ms
    return symmetric


def _toml(table: Mapping[str, object]) -> str:
    """Scalars and plain tables first, then each list of tables as [[name]]; what is None is left out."""
    lines, lists = [], []
    for key, value in table.items():
        if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
            lists += [f"\n[[{key}]]\n{_keys(row)}" for row in value]
        else:
            lines.append(_keys({key: value}))
    return "".join(lines + lists)


def _keys(table: Mapping[str, object]) -> str:
    return "".join(f"{key} = {_value(value)}\n" for key, value in table.items() if value is not None)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return json.dumps(value, ensure_ascii=False)
