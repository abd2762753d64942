"""A folder of registry data -> the tree of subnets, kept on disk so that the next run opens it at once.

Read are, in the folder or anywhere below it, files by these names: the registries' statistics and
databases, and the nested networks of IPFire's location database with the names of their AS. Everything
else there (latencies, say) is let be.

Invariant: the kept tree is named by a digest of all files it was made of; a changed file makes a new tree.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from ipmicra.delegation.subnets import NoSubnets, SubnetLookup
from ipmicra.errors import OperatorFault
from ipmicra.hierarchy import build_tree
from ipmicra.registry.files import read_file, registry_files
from ipmicra.registry.organisation_join import allocations_of
from ipmicra.registry.parsers.accumulator import Accumulator
from ipmicra.registry.treefile import VERSION, open_tree, write_tree

NAMES = ("delegated-*", "*.db.*", "*.db", "arin_db*", "networks.tsv*", "ases.tsv*")


def kept_tree(registry: Path, cache: Path, say: Callable[[str], object] = lambda words: None) -> Path:
    """The file that holds the tree of this registry data; made now, and said so, where it is missing."""
    files = _files(registry)
    kept = cache / f"{_digest(files)}.tree"
    if not kept.is_file():
        say(f"making the tree of {len(files)} registry files, to be kept as {kept}")
        _make(files, kept)
    return kept


def opened_tree(tree_file: Path | None) -> SubnetLookup:
    """The kept tree, mapped, not read; without a file a tree that knows nothing."""
    return NoSubnets() if tree_file is None else open_tree(tree_file).tree


def _files(registry: Path) -> list[Path]:
    if not registry.is_dir():
        raise OperatorFault(f"{registry}: no such folder of registry data")
    files = [
        Path(folder) / name
        for folder, _, names in os.walk(registry, followlinks=True)
        for name in names
        if any(fnmatchcase(name, wanted) for wanted in NAMES)
    ]
    if not files:
        raise OperatorFault(f"{registry} holds no registry data: no file named {' or '.join(NAMES)}")
    return sorted(files)


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256(str(VERSION).encode())
    for path in files:
        digest.update(path.name.encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _make(files: list[Path], kept: Path) -> None:
    gathering = Accumulator()
    for file in registry_files(files).files:
        read_file(file, gathering)
    write_tree(
        kept, build_tree(allocations_of(gathering)).tree, about={"files": [f.name for f in files]}
    )
