"""Bytes under a name <-> one row each, for state without its own table.

Invariant: the module that saves a blob owns its name and its format; a blob that is missing reads as None.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from ipmicra.coordinator.store.sql.schema import memory_table
from ipmicra.coordinator.store.sql.upserts import put


def save(connection: Connection, name: str, body: bytes, now_s: float) -> None:
    put(connection, memory_table, {"name": name, "saved_s": now_s, "body": body})


def read(connection: Connection, name: str) -> bytes | None:
    query = select(memory_table.c.body).where(memory_table.c.name == name)
    body: bytes | None = connection.execute(query).scalar()
    return body
