"""Subnets as CIDR blocks -> other libraries that hold them, ready to be asked.

Invariant: a rival is handed the blocks in the quickest way it offers; the values beside them are the
least that distinguish blocks, so that it is neither slower nor larger than necessary.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipmicra.hierarchy import SubnetTree

V4_BITS = 32


class Contestant(NamedTuple):
    name: str
    ranges: int
    of_text: Callable[[str], object]
    of_number: Callable[[int], object] | None


class Blocks(NamedTuple):
    """CIDR blocks, those of an outer subnet before those of an inner: of equal ones the last counts."""

    first: NDArray[np.int64]
    length: NDArray[np.int64]
    subnet: NDArray[np.int64]

    def rows(self) -> Iterator[tuple[int, int, int]]:
        return zip(self.first.tolist(), self.length.tolist(), self.subnet.tolist(), strict=True)


def blocks_of(tree: SubnetTree) -> Blocks:
    """All IPv4 subnets but the root, each cut into the fewest blocks."""
    first = tree.columns.v4_starts[1:].astype(np.int64)
    end = tree.columns.v4_lasts[1:].astype(np.int64) + 1
    subnet = np.arange(1, len(first) + 1)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    while len(first):
        aligned = np.where(first == 0, 1 << V4_BITS, first & -first)
        size = np.minimum(aligned, 1 << np.floor(np.log2(end - first)).astype(np.int64))
        parts.append((first, V4_BITS - np.log2(size).astype(np.int64), subnet))
        rest = np.flatnonzero(first + size < end)
        first, end, subnet = (first + size)[rest], end[rest], subnet[rest]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(columns[2], kind="stable")
    return Blocks(*(column[order] for column in columns))


def pytricia(tree: SubnetTree) -> Contestant:
    patricia: Any = import_module("pytricia").PyTricia(V4_BITS)
    for first, length, subnet in blocks_of(tree).rows():
        patricia.insert(first, length, subnet)
    return Contestant("pytricia", tree.root(6), patricia.get, patricia.get)


def py_radix(tree: SubnetTree) -> Contestant:
    radix: Any = import_module("radix").Radix()
    for first, length, _ in blocks_of(tree).rows():
        radix.add(packed=first.to_bytes(4, "big"), masklen=length)
    return Contestant("py-radix", tree.root(6), radix.search_best, None)


def maxmind(tree: SubnetTree) -> Contestant:
    """Its reader is C, but its writer is Python with an object a node: 10 million ranges are too many."""
    maxminddb, netaddr = import_module("maxminddb"), import_module("netaddr")
    writer = import_module("mmdb_writer").MMDBWriter(ip_version=4, database_type="subnets")
    for first, length, subnet in blocks_of(tree).rows():
        block = netaddr.IPNetwork((first, length), version=4)
        writer.insert_network(netaddr.IPSet([block]), {"subnet": subnet})
    with tempfile.NamedTemporaryFile(suffix=".mmdb") as file:
        writer.to_db_file(file.name)
        reader = maxminddb.open_database(file.name, maxminddb.MODE_MMAP_EXT)
    return Contestant("maxminddb", tree.root(6), reader.get, None)
