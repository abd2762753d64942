"""A coordinator, running or not -> a backup in one tar file.

Invariant: the rows are one moment's state; the bytes of every package that they name were durable before its
row was, so copying them afterwards misses none. The file gets its name when it is complete and synced.
"""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from sqlalchemy import Connection, select

from ipmicra import __version__
from ipmicra.carrier.durable import sync_folder
from ipmicra.coordinator.backup import rows
from ipmicra.coordinator.backup.manifest import FORMAT, NAME, BackupManifest
from ipmicra.coordinator.folder import bundles_folder
from ipmicra.coordinator.store.package_bytes.file_store import PackageLost, PackageStore
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import SCHEMA_VERSION, handover_table, package_table
from ipmicra.errors import HostFault
from ipmicra.registry.folder import tree_file

Advance = Callable[[int, int], None]


@dataclass
class Backup:
    """Of one coordinator. `copies` says whether the packages' bytes go into the file."""

    database: Database
    store: PackageStore
    data_folder: Path
    packages_at: str
    settings: str  # as TOML: what differs from the defaults
    copies: bool = True
    advance: Advance = lambda done, total: None

    def make(self, target: Path, now_s: float) -> BackupManifest:
        unfinished = target.with_name(f".{target.name}.unfinished")
        try:
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=".backup-") as work:
                handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                with os.fdopen(handle, "wb") as file:
                    with tarfile.open(fileobj=file, mode="w|") as tar:
                        manifest = self._write(tar, Path(work), now_s)
                    file.flush()
                    os.fsync(file.fileno())
            unfinished.replace(target)
            sync_folder(target.parent)
        except OSError as error:
            raise HostFault(f"writing the backup {target}: {error}") from error
        finally:
            unfinished.unlink(missing_ok=True)
        return manifest

    def _write(self, tar: tarfile.TarFile, work: Path, now_s: float) -> BackupManifest:
        with self.database.snapshot() as connection:
            counts = {
                table.name: rows.write_table(connection, table, work / table.name)
                for table in rows.tables()
                if table is not handover_table
            }
            handed_over = [row._asdict() for row in connection.execute(select(handover_table))]
            digests = list(_digests(connection))
        there, missing, size = self._write_packages(tar, digests, {row["digest"] for row in handed_over})
        kept = [row for row in handed_over if row["digest"] not in missing]
        counts[handover_table.name] = len(kept)
        for name in counts:
            if name != handover_table.name:
                tar.add(work / name, f"rows/{name}")
        _add(tar, f"rows/{handover_table.name}.json", msgspec.json.encode(kept))
        self._write_files(tar)
        manifest = BackupManifest(
            format=FORMAT,
            program=__version__,
            schema=SCHEMA_VERSION,
            began_s=now_s,
            rows=counts,
            packages=there,
            package_bytes=size,
            packages_copied=self.copies,
            packages_at=self.packages_at,
            missing=sorted(missing - {row["digest"] for row in handed_over}),
        )
        _add(tar, NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        return manifest

    def _write_packages(
        self, tar: tarfile.TarFile, digests: list[str], handed_over: set[str]
    ) -> tuple[int, set[str], int]:
        """A hand-over may have been taken since, and its bytes with it: it is left out then."""
        wanted = [*digests, *sorted(handed_over - set(digests))]
        there, size, missing = 0, 0, set()
        for number, digest in enumerate(wanted, 1):
            if self.copies or digest in handed_over:
                try:
                    data = self.store.fetch(digest)
                except PackageLost:
                    missing.add(digest)
                    continue
                _add(tar, f"packages/{digest}", data)
                size += len(data)
            there += 1
            self.advance(number, len(wanted))
        return there, missing, size

    def _write_files(self, tar: tarfile.TarFile) -> None:
        _add(tar, "settings.toml", self.settings.encode())
        tree = tree_file(self.data_folder)
        if tree.is_file():
            tar.add(tree, "tree")
        bundles = bundles_folder(self.data_folder)
        for path in sorted(bundles.rglob("*")) if bundles.is_dir() else ():
            if path.is_file():
                tar.add(path, f"bundles/{path.relative_to(bundles)}")


def _digests(connection: Connection) -> Iterator[str]:
    """Of packages in the order of their arrival; what was refused is kept aside, and kept here."""
    query = select(package_table.c.digest).where(
        (package_table.c.state != PackageState.REFUSED) | ~package_table.c.reason.startswith("lost: ")
    )
    found = connection.execute(query.order_by(package_table.c.received_s)).scalars()
    return iter(dict.fromkeys(found))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o600
    tar.addfile(entry, io.BytesIO(data))
