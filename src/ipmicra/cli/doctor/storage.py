"""The coordinator's database and package store, and the search index -> whether they can be used.

Invariant: nothing is created or migrated; the one object that is written is removed again. Libraries of
extras are imported inside, so that a plain install can run the other checks.
"""

from __future__ import annotations

import secrets
from contextlib import suppress

from ipmicra.cli.doctor.finding import Result, ok, problem, warning
from ipmicra.cli.doctor.installation import Installation
from ipmicra.errors import Fault


def check_database(installation: Installation) -> Result | None:
    if not installation.is_coordinator:
        return None
    from ipmicra.coordinator.folder import database_address
    from ipmicra.coordinator.store.sql.database import inspect_database
    from ipmicra.coordinator.store.sql.schema import SCHEMA_VERSION

    address = database_address(installation.settings.coordinator.database, installation.data_folder)
    try:
        seen = inspect_database(address)
    except Fault as fault:
        return problem(
            str(fault), "check coordinator.database, or restore a backup: ipmicra coordinator restore"
        )
    if seen.version is None:
        return warning(
            f"{seen.address} is empty", "begin a coordinator: ipmicra coordinator init, or correct it"
        )
    if seen.version > SCHEMA_VERSION:
        return problem(
            f"{seen.address} has schema {seen.version}; this version supports up to {SCHEMA_VERSION}",
            "run the newer version of ipmicra that wrote it",
        )
    if seen.version < SCHEMA_VERSION:
        return ok(
            f"{seen.address} has schema {seen.version}; the next start migrates it to {SCHEMA_VERSION}"
        )
    return ok(f"{seen.address} answers, schema {seen.version}")


def check_packages(installation: Installation) -> Result | None:
    """A tiny object is written, read and removed."""
    if not installation.is_coordinator:
        return None
    from ipmicra.carrier.package import digest_of
    from ipmicra.coordinator.folder import package_store, packages_folder

    configured, folder = (
        installation.settings.coordinator.packages,
        packages_folder(installation.data_folder),
    )
    if not configured and not folder.is_dir():
        return ok(f"{folder} does not exist yet; the coordinator creates it")
    data = b"ipmicra doctor " + secrets.token_bytes(16)
    digest = digest_of(data)
    shard = folder / digest[:2]
    is_new_shard = not configured and not shard.exists()
    where = configured or str(folder)
    try:
        store = package_store(configured, installation.data_folder)
        try:
            store.keep(digest, data)
            store.fetch(digest)
        finally:
            store.discard(digest)
            if is_new_shard:
                with suppress(OSError):  # a package has arrived since
                    shard.rmdir()
    except Fault as fault:
        advice = "check coordinator.packages, the AWS_ variables and the bucket's rights"
        return problem(str(fault), advice if configured else f"make {folder} writable")
    return ok(f"{where} stores, returns and removes an object")


def check_index(installation: Installation) -> Result | None:
    if not installation.is_search_engine:
        return None
    from ipmicra.search.contract import IndexDamaged
    from ipmicra.search.factory import open_index

    try:
        index = open_index(installation.index_folder, fills=False)
    except IndexDamaged as damage:
        rebuild = "coordinator reindex" if installation.is_coordinator else "search reindex"
        return problem(damage.what, f"make it anew from the packages: ipmicra {rebuild}")
    try:
        pages = index.page_count()
    finally:
        index.close()
    return ok(f"{installation.index_folder} opens, {pages:,} pages")
