"""A released site's state -> stored for the site's next owner.

Invariant: only the owner of the current site epoch may save a state, and only the next owner may fetch it.
It is deleted when that owner has taken it. The content is opaque here: only the frontier reads it.
"""

from __future__ import annotations

from mmap import mmap

from sqlalchemy import Connection, delete, select

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.store import sites
from ipmicra.coordinator.store.hosts import HostRefused
from ipmicra.coordinator.store.package_bytes import file_store
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import handover_table
from ipmicra.coordinator.store.sql.upserts import put
from ipmicra.model.ids import SiteEpoch


def save_state(
    database: Database,
    store: PackageStore,
    owner: str,
    site: str,
    epoch: SiteEpoch,
    state: bytes | mmap,
    now_s: float,
) -> None:
    """Store the state that the owner sends; on return it may be acknowledged."""
    with database.begin() as connection:
        _check_owner(connection, owner, site, epoch)
    digest = digest_of(state)
    file_store.keep(store, digest, state)
    with database.begin() as connection:
        _check_owner(connection, owner, site, epoch)
        put(
            connection,
            handover_table,
            {"site": site, "epoch": epoch, "digest": digest, "saved_s": now_s},
        )


def fetch_state(database: Database, store: PackageStore, owner: str, site: str) -> bytes | None:
    """The state that waits for the site's new owner; None if there is none, or none any more."""
    with database.begin() as connection:
        row = sites.site_named(connection, site)
        if row is None or row.crawler != owner:
            raise HostRefused("not-owner", f"{site} is not {owner}'s")
        query = select(handover_table.c.digest, handover_table.c.epoch).where(
            handover_table.c.site == site
        )
        found = connection.execute(query).first()
    return store.fetch(found.digest) if found is not None and found.epoch < row.epoch else None


def on_state_taken(connection: Connection, site: str, epoch: SiteEpoch) -> str | None:
    """The owner of that epoch has taken the state. Returns the digest of the state to discard."""
    digest: str | None = connection.execute(
        delete(handover_table)
        .where(handover_table.c.site == site, handover_table.c.epoch < epoch)
        .returning(handover_table.c.digest)
    ).scalar()
    return digest


def _check_owner(connection: Connection, owner: str, site: str, epoch: SiteEpoch) -> None:
    row = sites.site_named(connection, site)
    if row is None or row.crawler != owner or row.epoch != epoch:
        raise HostRefused("epoch", f"{site} is not {owner}'s in epoch {epoch} (any more)")
