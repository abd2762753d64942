"""Matrices of round trips in the formats that researchers publish -> a World without addresses.

Plain: one row a line, separated by commas, blanks or tabs, square; planetlab and King come like this.
Triples: `i j value` a line, as King's per-pair files; p2psim: a header of `node` lines and then
`i,j  value` in microseconds of round trip. Negative values and `nan` are pairs that were not measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import tables
from ipmicra.lab.world import (
    Milliseconds,
    World,
    from_directed,
    homes_of_single_addresses,
    places_without_addresses,
)

MICROSECONDS_PER_MS = 1000.0

_SEPARATOR = re.compile(r"[,;\s]+")
_PAIR = re.compile(r"^\s*(\d+)\s*[,\s]\s*(\d+)\s+(-?[\d.eE+-]+)\s*$")


def load_matrix(path: Path) -> World:
    """A plain square matrix in ms; a lower triangle will do."""
    with tables.opened(path) as file:
        lines = [_SEPARATOR.split(line.strip()) for line in file if _is_data(line)]
    width = max((len(line) for line in lines), default=0)
    if not lines or width > len(lines):
        raise OperatorFault(
            f"{path} is not a square matrix: {len(lines)} lines of up to {width} numbers"
        )
    directed_ms = np.full((len(lines), len(lines)), np.nan)
    for number, line in enumerate(lines):
        try:
            directed_ms[number, : len(line)] = [float(cell) for cell in line]
        except ValueError as error:
            raise OperatorFault(f"{path}, row {number + 1}: {error}") from None
    return _world(path, directed_ms)


def load_p2psim(path: Path) -> World:
    """p2psim's topology file: `node N` lines, then `i,j microseconds`; nodes count from 1."""
    return _world(path, _pairs(path, MICROSECONDS_PER_MS))


def load_king(path: Path, units_per_ms: float = MICROSECONDS_PER_MS) -> World:
    """King measurements: a matrix, or `i j value` a line, in microseconds unless said otherwise."""
    with tables.opened(path) as file:
        first = next((line for line in file if _is_data(line)), "")
    if _PAIR.match(first):
        return _world(path, _pairs(path, units_per_ms))
    matrix = load_matrix(path)
    return World(matrix.name, matrix.places, matrix.homes, matrix.round_trips_ms / units_per_ms)


def _pairs(path: Path, units_per_ms: float) -> Milliseconds:
    found: dict[tuple[int, int], float] = {}
    with tables.opened(path) as file:
        for number, line in enumerate(file, start=1):
            pair = _PAIR.match(line)
            if pair:
                found[int(pair[1]), int(pair[2])] = float(pair[3]) / units_per_ms
            elif _is_data(line) and not line.lstrip().startswith(("node", "topology", "failure")):
                raise OperatorFault(
                    f"{path}:{number}: {line.strip()!r} is neither `node N` nor `i,j value`"
                )
    return _matrix_of_pairs(path, found)


def _matrix_of_pairs(path: Path, found: dict[tuple[int, int], float]) -> Milliseconds:
    names = sorted({node for pair in found for node in pair})
    if not names:
        raise OperatorFault(f"{path} holds no pair `i,j value`")
    index = {name: number for number, name in enumerate(names)}
    directed_ms = np.full((len(names), len(names)), np.nan)
    for (source, target), value_ms in found.items():
        directed_ms[index[source], index[target]] = value_ms
    return directed_ms


def _is_data(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _world(path: Path, directed_ms: Milliseconds) -> World:
    directed_ms = np.where(directed_ms < 0, np.nan, directed_ms)
    places = places_without_addresses([str(number) for number in _numbers(directed_ms)])
    matrix_ms = from_directed(directed_ms)
    return World(path.parent.name or path.name, places, homes_of_single_addresses(places), matrix_ms)


def _numbers(matrix: Milliseconds) -> Iterable[int]:
    return range(len(matrix))
