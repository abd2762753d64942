"""Events that an operator may ask about later -> rows; the oldest are deleted beyond `EVENTS_MAX`."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from ipmicra.coordinator.store.sql.schema import event_table

EVENTS_MAX = 10_000


class EventRow(NamedTuple):
    at_s: float
    kind: str
    subject: str
    detail: str


def record(connection: Connection, kind: str, subject: str, detail: str, now_s: float) -> None:
    row = {"at_s": now_s, "kind": kind, "subject": subject, "detail": detail}
    number = connection.execute(
        event_table.insert().values(row).returning(event_table.c.number)
    ).scalar_one()
    connection.execute(delete(event_table).where(event_table.c.number <= number - EVENTS_MAX))


def latest(connection: Connection, most: int) -> list[EventRow]:
    """The latest events, newest first."""
    query = select(event_table.c.at_s, event_table.c.kind, event_table.c.subject, event_table.c.detail)
    rows = connection.execute(query.order_by(event_table.c.number.desc()).limit(most))
    return [EventRow(*row) for row in rows]
