"""Restored rows -> rows that no host's later report can contradict.

Hosts continued after the backup: they received sites and orders that these rows do not have. So every
rising number is raised beyond any that may have been used, and every site is assigned again. Hosts notice
that their lease has another epoch, drop their sites, and continue; none has to join again.

Invariant (one owner per site): after this no host may act on an earlier assignment.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, func, select, update

from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.store.sql.schema import (
    admin_link_table,
    admin_session_table,
    api_token_table,
    host_table,
    leader_table,
    link_table,
    order_table,
    site_table,
)

GAP = 1_000_000  # more epochs or orders than a coordinator gives out between two backups


def fence(connection: Connection, now_s: float) -> None:
    connection.execute(update(host_table).values(epoch=host_table.c.epoch + GAP, lease_until_s=None))
    owned = site_table.c.state.in_((SiteStatus.DELEGATED, SiteStatus.RELEASING))
    freed = select(site_table.c.name).where(owned)
    connection.execute(update(link_table).where(link_table.c.site.in_(freed)).values(given_s=None))
    connection.execute(update(site_table).values(unsent_s=site_table.c.found_s))
    connection.execute(update(site_table).where(owned).values(crawler=None, state=SiteStatus.WAITING))
    connection.execute(update(site_table).values(epoch=site_table.c.epoch + GAP))
    _number_orders_on(connection, now_s)


def end_sessions(connection: Connection) -> None:
    """End the sessions of operators, the tokens of programs and the leader's lease."""
    for table in (admin_link_table, admin_session_table, api_token_table, leader_table):
        connection.execute(delete(table))


def _number_orders_on(connection: Connection, now_s: float) -> None:
    """No host does an order whose number it has seen. The last row keeps the numbers rising."""
    connection.execute(update(order_table).where(order_table.c.done_s.is_(None)).values(done_s=now_s))
    somebody = connection.execute(select(host_table.c.name).limit(1)).scalar()
    if somebody is not None:
        last = connection.execute(select(func.max(order_table.c.number))).scalar() or 0
        row = {
            "number": last + GAP,
            "host": somebody,
            "kind": "none",
            "key": "",
            "body": b"",
            "given_s": now_s,
            "done_s": now_s,
        }
        connection.execute(order_table.insert().values(**row))
