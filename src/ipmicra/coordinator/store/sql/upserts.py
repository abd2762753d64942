"""Rows that may exist already -> one INSERT statement for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from ipmicra.coordinator.store.sql.batches import in_batches

Row = Mapping[str, Any]


def insert_new(connection: Connection, table: Table, rows: Sequence[Row]) -> int:
    """Insert the rows whose key does not exist yet. Returns the number of new rows."""
    if not rows:
        return 0
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    key = table.primary_key.columns.values()[0]
    statement = insert(table).values(list(rows)).on_conflict_do_nothing().returning(key)
    return len(connection.execute(statement).all())


def put(connection: Connection, table: Table, *rows: Row) -> None:
    """Insert rows with the same columns, or update those whose key exists.

    A key may occur only once among the rows.
    """
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    keys = [column.name for column in table.primary_key.columns]
    for batch in in_batches(rows):
        statement = insert(table).values([dict(row) for row in batch])
        changed = {name: statement.excluded[name] for name in batch[0] if name not in keys}
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed))
