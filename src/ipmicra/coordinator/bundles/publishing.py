"""A signed repository -> the folder that the coordinator gives out, new files before those that name them."""

from __future__ import annotations

from pathlib import Path

from ipmicra.carrier.durable import make_folder, write_durably
from ipmicra.coordinator.bundles.repository import METADATA, TARGETS, Repository
from ipmicra.errors import OperatorFault

LAST = "timestamp.json"


def publish(repository: Path, folder: Path) -> int:
    """Copy what is new. Returns how many files that were."""
    if not (repository / METADATA / LAST).is_file():
        raise OperatorFault(
            f"{repository} is not a repository of bundles; create one with: ipmicra bundle init"
        )
    copied = 0
    for kind in (TARGETS, METADATA):
        found = (path for path in (repository / kind).glob("*") if not path.name.startswith("."))
        for path in sorted(found, key=lambda path: (path.name == LAST, path.name)):
            copied += _copy(path, folder / kind / path.name)
    return copied


def _copy(path: Path, target: Path) -> bool:
    data = path.read_bytes()
    if target.is_file() and target.read_bytes() == data:
        return False
    make_folder(target.parent)
    write_durably(target, data)
    return True


def published_versions(folder: Path) -> list[str]:
    """The published versions, oldest first; empty if none was published."""
    return Repository(folder).versions() if (folder / METADATA / LAST).is_file() else []
