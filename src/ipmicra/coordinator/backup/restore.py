"""A backup -> a coordinator in an empty data folder or database.

Invariant: packages first, rows last and in one transaction: until that has committed there is no coordinator,
and a restore that was interrupted can be begun again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

from sqlalchemy import Connection

from ipmicra.carrier.durable import write_durably
from ipmicra.coordinator.backup import rows
from ipmicra.coordinator.backup.archive_reader import Parts, named_packages, read
from ipmicra.coordinator.backup.fencing import end_sessions, fence
from ipmicra.coordinator.backup.manifest import BackupManifest
from ipmicra.coordinator.folder import bundles_folder
from ipmicra.coordinator.store import events
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.migrations import migrate
from ipmicra.coordinator.store.sql.schema import (
    SCHEMA_VERSION,
    handover_table,
    schema_version_table,
)
from ipmicra.errors import Fault, HostFault, OperatorFault
from ipmicra.registry.folder import tree_file

SETTINGS_FILE = "restored-settings.toml"


def restore(
    file: Path,
    database: Database,
    store: PackageStore,
    data_folder: Path,
    now_s: float,
    keeps_leases: bool = False,
) -> BackupManifest:
    """`keeps_leases` only where the coordinator was stopped before the backup and never ran again."""
    if database.is_begun():
        raise OperatorFault(
            f"there is a coordinator in {database.address}: a backup is restored into an empty one"
        )
    with tempfile.TemporaryDirectory(dir=data_folder, prefix=".restore-") as work:
        parts = read(
            file, Path(work), store.keep, lambda name, data: place_file(data_folder, name, data)
        )
        assert parts.manifest is not None
        _check_packages(parts, store)
        with database.begin() as connection:
            _insert(connection, parts, parts.manifest)
            end_sessions(connection)
            if not keeps_leases:
                fence(connection, now_s)
            rows.number_on(connection)
            summary = f"from a backup of {parts.manifest.program}, {parts.manifest.packages:,} packages"
            events.record(connection, events.EventKind.RESTORED, "coordinator", summary, now_s)
    if parts.settings:
        write_durably(data_folder / SETTINGS_FILE, parts.settings.encode())
    return parts.manifest


def verify(file: Path, open_store: Callable[[], PackageStore]) -> BackupManifest:
    """Read all of it. Packages that are only named are looked for in the store, which is opened for that."""
    with tempfile.TemporaryDirectory(prefix="ipmicra-verify-") as work:
        parts = read(file, Path(work), lambda digest, data: None, lambda name, data: None)
        assert parts.manifest is not None
        _check_packages(parts, None if parts.manifest.packages_copied else open_store())
        return parts.manifest


def _check_packages(parts: Parts, store: PackageStore | None) -> None:
    lacking = []
    for digest in sorted(named_packages(parts) - parts.packages):
        try:
            if store is None:
                raise HostFault("it is not in the backup")
            store.fetch(digest)
        except Fault as why:
            lacking.append(f"{digest[:12]}: {why}")
    if lacking:
        assert parts.manifest is not None
        raise OperatorFault(
            f"{len(lacking)} packages are missing, the first is {lacking[0]}. The backup names packages "
            f"that were in {parts.manifest.packages_at}: bring them to coordinator.packages first"
        )


def _insert(connection: Connection, parts: Parts, manifest: BackupManifest) -> None:
    rows.tables()[0].metadata.create_all(connection)
    for table in rows.tables():
        if table is schema_version_table or table.name not in manifest.rows:
            continue
        if table is handover_table:
            rows.read_table(connection, table, parts.rows_of(table.name) or ())
        else:
            rows.read_table(connection, table, rows.rows_in(parts.work / table.name))
    connection.execute(schema_version_table.insert().values(version=SCHEMA_VERSION))
    if manifest.schema < SCHEMA_VERSION:
        migrate(connection, manifest.schema)


def place_file(data_folder: Path, name: PurePosixPath, data: IO[bytes]) -> None:
    if name == PurePosixPath("tree"):
        target = tree_file(data_folder)
    elif name.parts[:1] == ("bundles",) and ".." not in name.parts and len(name.parts) > 1:
        target = bundles_folder(data_folder).joinpath(*name.parts[1:])
    else:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        shutil.copyfileobj(data, out)
