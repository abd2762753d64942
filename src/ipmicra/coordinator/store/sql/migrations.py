"""Rows of an earlier schema version -> rows of this one. New tables exist already when a step runs.

Invariant: one step per version, in order, in the transaction that raises the version.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Column, Connection, Table, exists, func, insert, inspect, select, update
from sqlalchemy.schema import CreateColumn

from ipmicra.coordinator.store.sql.schema import (
    event_table,
    grant_table,
    host_table,
    link_table,
    order_table,
    site_table,
)


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


def _queue_sites(connection: Connection) -> None:
    """Before version 8 sites waited in the order in which they were found, and all links were searched."""
    for column in (site_table.c.queued_s, site_table.c.unsent_s):
        _add_column(connection, site_table, column)
    for table in (site_table, event_table, order_table, link_table):
        for index in table.indexes:
            index.create(connection, checkfirst=True)
    connection.execute(update(site_table).values(queued_s=site_table.c.found_s))
    unsent = exists().where(link_table.c.site == site_table.c.name, link_table.c.given_s.is_(None))
    connection.execute(update(site_table).where(unsent).values(unsent_s=site_table.c.found_s))


def _add_column(connection: Connection, table: Table, column: Column[float]) -> None:
    if any(there["name"] == column.name for there in inspect(connection).get_columns(table.name)):
        return
    described = CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {described}")


_STEPS: dict[int, Callable[[Connection], None]] = {3: _record_current_owners, 8: _queue_sites}
