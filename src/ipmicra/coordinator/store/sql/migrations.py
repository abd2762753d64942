"""Rows of an earlier schema version -> rows of this one. New tables exist already when a step runs.

Invariant: one step per version, in order, in the transaction that raises the version.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, func, insert, select

from ipmicra.coordinator.store.sql.schema import grant_table, host_table, site_table


def migrate(connection: Connection, from_version: int) -> None:
    """Run every step after `from_version`."""
    for version, step in sorted(_STEPS.items()):
        if version > from_version:
            step(connection)


def _record_current_owners(connection: Connection) -> None:
    """Before version 3 assignments were not recorded: record one for each current owner."""
    owned = (
        select(
            site_table.c.crawler,
            host_table.c.epoch,
            site_table.c.name,
            func.coalesce(site_table.c.delegated_s, 0.0),
        )
        .join(host_table, host_table.c.name == site_table.c.crawler)
        .where(site_table.c.state.in_(("delegated", "releasing")))
    )
    columns = ["crawler", "lease_epoch", "site", "granted_s"]
    connection.execute(insert(grant_table).from_select(columns, owned))


_STEPS: dict[int, Callable[[Connection], None]] = {3: _record_current_owners}
