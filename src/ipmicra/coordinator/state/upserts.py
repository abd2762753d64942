"""Rows that may be there already -> one statement for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

Row = Mapping[str, Any]


def insert_new(connection: Connection, table: Table, rows: Sequence[Row]) -> int:
    """Insert the rows whose key is not there yet; returns how many were new."""
    if not rows:
        return 0
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    key = table.primary_key.columns.values()[0]
    statement = insert(table).values(list(rows)).on_conflict_do_nothing().returning(key)
    return len(connection.execute(statement).all())


def put(connection: Connection, table: Table, row: Row) -> None:
    """Insert a row, or replace the values of the one with the same key."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    keys = [column.name for column in table.primary_key.columns]
    changed = {name: value for name, value in row.items() if name not in keys}
    statement = insert(table).values(dict(row))
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed))
