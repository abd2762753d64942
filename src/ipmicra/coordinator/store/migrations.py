"""A schema of an earlier program -> what its rows lack, filled in. New tables are there already.

Law: one step for each version, in their order, in the transaction that raises the version.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, func, insert, select

from ipmicra.coordinator.store.schema import grant_table, host_table, site_table


def migrate(connection: Connection, from_version: int) -> None:
    """Take every step after the version that was found."""
    for version, step in sorted(_STEPS.items()):
        if version > from_version:
            step(connection)


def _record_current_owners(connection: Connection) -> None:
    """Before version 3 nobody wrote down who was given what: who has a site was given it."""
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
