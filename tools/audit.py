"""What we install -> which licences it has, and which known weaknesses. Works without a network.

    python tools/audit.py                     both, for all of requirements/; fails where there is a finding
    python tools/audit.py --advisories FILE   with another snapshot of advisories

Licences: of installed packages, by their own metadata, compared with requirements/licences.toml; the
expressions there must be made of allowed licences. Weaknesses: versions compared with
requirements/advisories.json, whose date is printed. What was published later, or is not in the snapshot, is
not known here.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from packaging.version import Version

from tools.locked_requirements import FOLDER, ROLES, LockedPackage, all_locked

LICENCES = FOLDER / "licences.toml"
ADVISORIES = FOLDER / "advisories.json"
_WORDS = re.compile(r"[A-Za-z0-9.-]+")
_OPERATORS = frozenset({"AND", "OR", "WITH"})


class Finding(NamedTuple):
    package: str
    what: str


class LicenceTable(NamedTuple):
    """Licences that we accept, and what each package's is, as a person has read it."""

    allowed: frozenset[str]
    packages: dict[str, str]  # SPDX expressions
    declared: dict[str, str]  # what the metadata says where that is no SPDX expression


class Advisory(NamedTuple):
    """A published weakness: versions from `introduced` up to, without, `fixed`."""

    identity: str
    package: str
    introduced: str
    fixed: str  # empty: not fixed
    summary: str

    def affects(self, version: str) -> bool:
        there = Version(version)
        return Version(self.introduced or "0") <= there and (
            not self.fixed or there < Version(self.fixed)
        )


class Snapshot(NamedTuple):
    date: str
    source: str
    advisories: list[Advisory]


def licence_table(path: Path = LICENCES) -> LicenceTable:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    return LicenceTable(frozenset(told["allowed"]), told["packages"], told["declared"])


def snapshot(path: Path = ADVISORIES) -> Snapshot:
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Snapshot(told["date"], told["source"], [Advisory(**one) for one in told["advisories"]])


def licence_findings(packages: Iterable[LockedPackage], table: LicenceTable) -> Iterator[Finding]:
    for package in packages:
        expression = table.packages.get(package.name)
        if expression is None:
            yield Finding(
                package.name, "its licence is not in requirements/licences.toml: read it, add it"
            )
            continue
        for word in sorted(set(_WORDS.findall(expression)) - _OPERATORS - table.allowed):
            yield Finding(package.name, f"{word} is not an allowed licence")
        said = declared_licence(package.name)
        if said is not None and said != table.declared.get(package.name, expression):
            yield Finding(package.name, f"its metadata now says {said!r}, not {expression!r}")


def declared_licence(name: str) -> str | None:
    """As the installed package says it, in one line; None where it is not installed."""
    try:
        told: Any = metadata(name)  # a message, whose type does not say so
    except PackageNotFoundError:
        return None
    if expression := told.get("License-Expression"):
        return str(expression)
    classifiers = [one for one in told.get_all("Classifier") or () if one.startswith("License ::")]
    if classifiers:
        return "; ".join(sorted(one.rpartition(" :: ")[2] for one in classifiers))
    return " ".join((told.get("License") or "").split())[:60]


def weaknesses(packages: Iterable[LockedPackage], known: Iterable[Advisory]) -> Iterator[Finding]:
    advisories = list(known)
    for package in packages:
        for advisory in advisories:
            if advisory.package == package.name and advisory.affects(package.version):
                remedy = f"fixed in {advisory.fixed}" if advisory.fixed else "not fixed"
                yield Finding(
                    f"{package.name} {package.version}",
                    f"{advisory.identity}: {advisory.summary} ({remedy})",
                )


def main(words: list[str]) -> int:
    taken = snapshot(
        Path(words[words.index("--advisories") + 1]) if "--advisories" in words else ADVISORIES
    )
    packages = all_locked()
    missing = [package.name for package in packages if declared_licence(package.name) is None]
    findings = [*licence_findings(packages, licence_table()), *weaknesses(packages, taken.advisories)]
    for finding in findings:
        print(f"{finding.package}: {finding.what}")  # noqa: T201
    print(  # noqa: T201
        f"{len(packages)} packages of {len(ROLES)} roles, {len(findings)} findings. "
        f"Advisories: {len(taken.advisories)}, as of {taken.date} ({taken.source}); later ones are not known."
    )
    if missing:
        print(f"not installed here, so their metadata was not compared: {', '.join(missing)}")  # noqa: T201
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
