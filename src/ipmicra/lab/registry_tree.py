"""A folder of registry data -> the tree of subnets, kept on disk so that the next run opens it at once.

    delegated-*[.gz]        the registries' delegated-extended statistics
    networks.tsv[.gz]       nested networks: prefix, AS number, country (IPFire's location database)

in the folder or anywhere below it. Delegated records are trusted first: they carry organisation handles.
The kept tree is named by a digest of all files it was made of, so a changed file makes a new tree.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from ipmicra.addresses import AddressRange
from ipmicra.delegation.subnets import NoSubnets, Subnets
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy.allocation import Allocation, Allocations
from ipmicra.hierarchy.build import build_tree
from ipmicra.hierarchy.columns import TreeColumns, TreeNames
from ipmicra.hierarchy.texts import PackedTexts
from ipmicra.hierarchy.tree import SubnetTree

FORMAT = b"1"
PATTERNS = ("delegated-*", "networks.tsv*")


def kept_tree(registry: Path, cache: Path) -> Path:
    """The folder that holds the tree of this registry data; made now where it is not there yet."""
    files = _files(registry)
    folder = cache / _digest(files)
    if not folder.is_dir():
        write_tree(build_tree(_allocations(files)).tree, folder)
    return folder


def opened_tree(folder: Path | None) -> Subnets:
    """The kept tree, its columns mapped, not read; without a folder a tree that knows nothing."""
    if folder is None:
        return NoSubnets()
    columns = {f.name: np.load(folder / f"{f.name}.npy", mmap_mode="r") for f in fields(TreeColumns)}
    names = {
        f.name: PackedTexts(
            np.load(folder / f"names_{f.name}_bounds.npy", mmap_mode="r"),
            np.load(folder / f"names_{f.name}_letters.npy", mmap_mode="r"),
        )
        for f in fields(TreeNames)
    }
    return SubnetTree(TreeColumns(**columns), TreeNames(**names))


def write_tree(tree: SubnetTree, folder: Path) -> None:
    """Whole or not at all: two runs may make the same tree at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    for field in fields(TreeColumns):
        np.save(making / f"{field.name}.npy", getattr(tree.columns, field.name))
    for field in fields(TreeNames):
        texts: PackedTexts = getattr(tree.names, field.name)
        np.save(making / f"names_{field.name}_bounds.npy", texts.bounds)
        np.save(making / f"names_{field.name}_letters.npy", texts.letters)
    try:
        making.rename(folder)
    except OSError:
        shutil.rmtree(making)
        if not folder.is_dir():
            raise


def _files(registry: Path) -> list[Path]:
    if not registry.is_dir():
        raise OperatorFault(f"{registry}: no such folder of registry data")
    files = [path for pattern in PATTERNS for path in sorted(registry.rglob(pattern)) if path.is_file()]
    if not files:
        raise OperatorFault(f"{registry} holds no registry data: no file named {' or '.join(PATTERNS)}")
    return files


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256(FORMAT)
    for path in files:
        digest.update(path.name.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _allocations(files: list[Path]) -> Allocations:
    allocations = Allocations()
    for path in files:
        read = _delegated if path.name.startswith("delegated-") else _networks
        for allocation in read(path):
            allocations.append(allocation)
    return allocations


def _lines(path: Path) -> Iterator[str]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            yield from file
    else:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from file


def _delegated(path: Path) -> Iterator[Allocation]:
    for line in _lines(path):
        cells = line.rstrip("\n").split("|")
        if (
            len(cells) < 7
            or cells[2] not in ("ipv4", "ipv6")
            or cells[6] not in ("allocated", "assigned")
        ):
            continue
        if cells[2] == "ipv4":
            start = AddressRange.parse(cells[3]).start
            place = AddressRange(4, start, start + int(cells[4]))
        else:
            place = AddressRange.parse(f"{cells[3]}/{cells[4]}")
        handle = cells[7] if len(cells) > 7 else ""
        yield Allocation(place, handle=handle, country=cells[1], registry=cells[0], status=cells[6])


def _networks(path: Path) -> Iterator[Allocation]:
    for line in _lines(path):
        prefix, asn, country = line.rstrip("\n").split("\t")
        handle = f"AS{asn}" if asn else ""
        yield Allocation(AddressRange.parse(prefix), handle=handle, country=country, asn=int(asn or 0))
