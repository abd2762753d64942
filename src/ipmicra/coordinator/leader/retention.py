"""Rows that nobody needs any more -> deleted, a few at a time, by the leader.

| rows                | kept                                                                          |
|---------------------|-------------------------------------------------------------------------------|
| orders that are done | `coordinator.orders_kept_days`; the last one always: it keeps the numbers rising |
| links that were sent | `coordinator.links_kept_days`; one of each site always: it can be crawled again |
| what sources brought | `INTAKE_DAYS`                                                                 |

Invariant: a transaction deletes at most `ROWS_AT_ONCE` rows of a kind, found by an index.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.orm import aliased

from ipmicra.coordinator.settings import CoordinatorSettings
from ipmicra.coordinator.store.sql.schema import intake_table, link_table, order_table

CHECK_SECONDS = 10.0
ROWS_AT_ONCE = 500
INTAKE_DAYS = 30
DAY_S = 86_400.0


class Retention:
    """Deletes rows at intervals: up to some four million of each kind per day."""

    def __init__(self, settings: CoordinatorSettings) -> None:
        self._orders_s = settings.orders_kept_days * DAY_S
        self._links_s = settings.links_kept_days * DAY_S
        self._checked_s: float | None = None

    def delete_old_rows(self, connection: Connection, now_s: float) -> None:
        if self._checked_s is not None and 0 <= now_s - self._checked_s < CHECK_SECONDS:
            return
        self._checked_s = now_s
        _delete_orders(connection, now_s - self._orders_s)
        _delete_links(connection, now_s - self._links_s)
        old = intake_table.c.day < int(now_s // DAY_S) - INTAKE_DAYS
        connection.execute(delete(intake_table).where(old))


def _delete_orders(connection: Connection, before_s: float) -> None:
    rows = order_table.c
    last = select(func.max(rows.number)).scalar_subquery()
    old = select(rows.number).where(rows.done_s < before_s, rows.number < last).limit(ROWS_AT_ONCE)
    connection.execute(delete(order_table).where(rows.number.in_(old)))


def _delete_links(connection: Connection, before_s: float) -> None:
    """Of each site the link that is first by its text stays."""
    rows, others = link_table.c, aliased(link_table)
    has_another = (
        select(others.c.url).where(others.c.site == rows.site, others.c.url < rows.url).exists()
    )
    old = select(rows.url).where(rows.given_s < before_s, has_another).limit(ROWS_AT_ONCE)
    connection.execute(delete(link_table).where(rows.url.in_(old)))
