"""What happened that somebody may ask about later -> rows, the oldest forgotten in time."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from ipmicra.coordinator.store.schema import event as events

KEPT = 10_000


class EventRow(NamedTuple):
    at_s: float
    kind: str
    subject: str
    detail: str


def note(connection: Connection, kind: str, subject: str, detail: str, now_s: float) -> None:
    row = {"at_s": now_s, "kind": kind, "subject": subject, "detail": detail}
    number = connection.execute(events.insert().values(row).returning(events.c.number)).scalar_one()
    connection.execute(delete(events).where(events.c.number <= number - KEPT))


def latest(connection: Connection, most: int) -> list[EventRow]:
    """The latest first."""
    query = select(events.c.at_s, events.c.kind, events.c.subject, events.c.detail)
    rows = connection.execute(query.order_by(events.c.number.desc()).limit(most))
    return [EventRow(*row) for row in rows]
