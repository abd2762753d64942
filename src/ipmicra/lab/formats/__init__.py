"""A folder or file of latency data -> a World; the format is recognised from the contents of the folder.

Invariant: a loader never fixes data in silence. Data that it leaves out is noted in the world's remarks;
a file that it cannot read is the operator's fault, with the file and the line.
"""

from __future__ import annotations

from pathlib import Path

from ipmicra.errors import OperatorFault
from ipmicra.lab.formats import anchors, cloud, hourly, matrices, tables, transit_stub
from ipmicra.lab.world import World

MATRIX_FILE = "rtt_ms.csv"


def load_world(path: Path) -> World:
    """The world of a folder (anchors, cloud, hourly, transit-stub, matrix) or of a matrix file."""
    if path.is_file():
        return _load_file(path)
    if not path.is_dir():
        raise OperatorFault(f"{path}: no such file or folder of latency data")
    if cloud.is_cloud(path):
        return cloud.load(path)
    if hourly.is_hourly(path):
        return hourly.load(path)
    if tables.existing_file(path, "edges.csv"):
        return transit_stub.load(path)
    if tables.existing_file(path, "nodes.csv"):
        return anchors.load(path)
    matrix = tables.existing_file(path, MATRIX_FILE)
    if matrix:
        return matrices.load_matrix(matrix)
    raise OperatorFault(
        f"{path} holds no latency data in a form that is known: nodes.csv and rtt.csv.gz; "
        f"*_{cloud.PREFIXES} and *_{cloud.ROUND_TRIPS}; *_{hourly.PROBES} and *_{hourly.ROUND_TRIPS}; "
        f"nodes.csv and edges.csv; or {MATRIX_FILE}"
    )


def _load_file(path: Path) -> World:
    name = path.name.lower()
    if "p2psim" in name:
        return matrices.load_p2psim(path)
    if "king" in name:
        return matrices.load_king(path)
    return matrices.load_matrix(path)
