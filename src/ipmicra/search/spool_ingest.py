"""Packages in the spools of a data folder -> the index in the same folder.

Invariant: if the base of a delta is missing, a resend request is written into the crawler's spool. A
package that cannot be unpacked is moved aside with its reason and does not stop others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ipmicra.carrier.package import PackageFile, PackageRefused, digest_of, packages_in, unpack
from ipmicra.carrier.resend_requests import write_requests
from ipmicra.carrier.spool import spools_in
from ipmicra.search.contract import SearchIndex

REFUSED_FOLDER = "refused"


class SpoolIngest(NamedTuple):
    packages: int
    records: int  # that changed something
    refused: list[str]


def waiting_packages(data_folder: Path) -> list[PackageFile]:
    """All packages of all crawlers in the data folder, each crawler's in its order."""
    return [package for spool in spools_in(data_folder) for package in packages_in(spool)]


def integrate_all(
    index: SearchIndex,
    packages: list[PackageFile],
    data_folder: Path,
    advance: Callable[[], None] = lambda: None,
) -> SpoolIngest:
    records, refused = 0, []
    for package in packages:
        try:
            records += integrate_file(index, package)
        except PackageRefused as reason:
            refused.append(f"{package.path.name}: {reason}")
            put_aside(package, data_folder, str(reason))
        advance()
    index.commit()
    for spool in {package.path.parent for package in packages}:
        write_requests(spool, index.wanted(spool.name))
    return SpoolIngest(len(packages), records, refused)


def integrate_file(index: SearchIndex, package: PackageFile) -> int:
    data = package.path.read_bytes()
    digest = digest_of(data)
    if digest != package.digest:
        raise PackageRefused(
            f"its name promises {package.digest[:12]}..., its bytes are {digest[:12]}..."
        )
    return index.integrate(unpack(data), digest)


def put_aside(package: PackageFile, data_folder: Path, reason: str) -> None:
    """Keep a refused package and why it was refused, out of the way."""
    folder = data_folder / REFUSED_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    package.path.replace(folder / package.path.name)
    (folder / f"{package.path.name}.reason").write_text(reason + "\n", encoding="utf-8")
