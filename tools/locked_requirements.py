"""requirements/ROLE.txt -> the packages that a role installs: name, version, digests, where they apply."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from packaging.markers import Marker

REPOSITORY = Path(__file__).parents[1]
FOLDER = REPOSITORY / "requirements"
ROLES = ("host", "search", "coordinator", "all", "build")
_PINNED = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))?(?: \\)?$"
)
_DIGEST = re.compile(r"^    --hash=sha256:([0-9a-f]{64})(?: \\)?$")


class LockedPackage(NamedTuple):
    name: str
    version: str
    marker: str  # of PEP 508; empty: everywhere
    digests: tuple[str, ...]  # SHA-256 of each file that may be installed

    def applies_here(self) -> bool:
        return not self.marker or Marker(self.marker).evaluate()


def locked(role: str) -> list[LockedPackage]:
    """Raises ValueError for a line that is neither a pinned package nor a digest."""
    found: list[LockedPackage] = []
    for line in (FOLDER / f"{role}.txt").read_text(encoding="utf-8").splitlines():
        if pinned := _PINNED.match(line):
            found.append(LockedPackage(pinned["name"], pinned["version"], pinned["marker"] or "", ()))
        elif digest := _DIGEST.match(line):
            found[-1] = found[-1]._replace(digests=(*found[-1].digests, digest[1]))
        else:
            raise ValueError(f"requirements/{role}.txt: {line!r} is neither a version nor a digest")
    return found


def all_locked() -> list[LockedPackage]:
    """Of every role, each once."""
    return sorted({package.name: package for role in ROLES for package in locked(role)}.values())
