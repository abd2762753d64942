"""A backup's tar file -> its parts, one after the other, each checked; nothing is written outside of `work`.

Invariant: names in the file are taken for what they are expected to be, never as paths.
"""

from __future__ import annotations

import re
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.backup import rows
from ipmicra.coordinator.backup.manifest import FORMAT, NAME, BackupManifest
from ipmicra.coordinator.store.sql.schema import SCHEMA_VERSION, handover_table
from ipmicra.errors import OperatorFault
from ipmicra.protocol.foreign_bytes import UNREADABLE

_PACKAGE = re.compile(r"packages/([0-9a-f]{64})")
_ROWS = re.compile(r"rows/([a-z_]{1,60})(\.json)?")
MANIFEST_BYTES_MAX = 64 << 20


@dataclass
class Parts:
    """The parts of a backup. The rows are files in `work`."""

    work: Path
    manifest: BackupManifest | None = None
    settings: str = ""
    packages: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)

    def rows_of(self, name: str) -> list[dict[str, object]] | None:
        """Of the one table that is written as JSON."""
        file = self.work / f"{name}.json"
        return msgspec.json.decode(file.read_bytes()) if file.exists() else None


def read(
    file: Path,
    work: Path,
    on_package: Callable[[str, bytes], None],
    on_file: Callable[[PurePosixPath, IO[bytes]], None],
) -> Parts:
    """Read the whole file. Raises `OperatorFault` if it is not a complete backup."""
    parts = Parts(work)
    try:
        with tarfile.open(file, mode="r|") as tar:
            for entry in tar:
                content = tar.extractfile(entry) if entry.isfile() else None
                if content is not None:
                    _take(parts, entry.name, content, on_package, on_file)
    except FileNotFoundError as error:
        raise OperatorFault(f"there is no backup {file}") from error
    except (tarfile.TarError, OSError, EOFError, *UNREADABLE) as error:
        raise OperatorFault(f"{file} is not a backup, or is damaged: {error}") from error
    if parts.manifest is None:
        raise OperatorFault(f"{file} is not complete: its last part, the manifest, is missing")
    _check(file, parts, parts.manifest)
    return parts


def _take(
    parts: Parts,
    name: str,
    content: IO[bytes],
    on_package: Callable[[str, bytes], None],
    on_file: Callable[[PurePosixPath, IO[bytes]], None],
) -> None:
    if package := _PACKAGE.fullmatch(name):
        data = content.read()
        if digest_of(data) != package[1]:
            raise OperatorFault(f"the package {package[1][:12]} in the backup is damaged")
        on_package(package[1], data)
        parts.packages.add(package[1])
    elif table := _ROWS.fullmatch(name):
        with (parts.work / (table[1] + (table[2] or ""))).open("wb") as out:
            shutil.copyfileobj(content, out)
        parts.tables.add(table[1])
    elif name == NAME:
        parts.manifest = msgspec.json.decode(content.read(MANIFEST_BYTES_MAX), type=BackupManifest)
    elif name == "settings.toml":
        parts.settings = content.read().decode()
    else:
        on_file(PurePosixPath(name), content)


def _check(file: Path, parts: Parts, manifest: BackupManifest) -> None:
    if manifest.format > FORMAT or manifest.schema > SCHEMA_VERSION:
        raise OperatorFault(
            f"{file} was made by ipmicra {manifest.program}, which is newer than this one: use that"
        )
    if absent := sorted(set(manifest.rows) - parts.tables):
        raise OperatorFault(f"{file} is damaged: the tables {', '.join(absent)} are missing")
    for name, count in manifest.rows.items():
        found = count_rows(parts, name)
        if found != count:
            raise OperatorFault(f"{file} is damaged: {name} has {found} of {count} rows")


def count_rows(parts: Parts, name: str) -> int:
    written = parts.rows_of(name)
    if written is not None:
        return len(written)
    return sum(1 for _ in rows.rows_in(parts.work / name))


def named_packages(parts: Parts) -> set[str]:
    """The digests that the rows name and that must be in the backup."""
    assert parts.manifest is not None
    of_packages = {
        str(row["digest"])
        for row in rows.rows_in(parts.work / "package")
        if not str(row["reason"]).startswith("lost: ")
    }
    handed_over = {str(row["digest"]) for row in parts.rows_of(handover_table.name) or ()}
    return (of_packages | handed_over) - set(parts.manifest.missing)
