"""An operator's command to move a crawler to another host -> a row, until the host is resumed.

Invariant: while the row exists the host gets no new sites. The state of a move is in rows only, so the next
leader continues a move when a leader dies.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from ipmicra.coordinator.store.sites import OWN_UNIT, SiteRow, SiteStatus, site_row
from ipmicra.coordinator.store.sql.schema import move_table, site_table
from ipmicra.coordinator.store.sql.upserts import put


class OperatorMove(NamedTuple):
    crawler: str
    target: str
    wanted_s: float
    moved_s: float | None  # when its last site was released


def request_move(connection: Connection, crawler: str, target: str, now_s: float) -> None:
    """Request a move; it replaces an earlier request."""
    row = {"crawler": crawler, "target": target, "wanted_s": now_s, "moved_s": None}
    put(connection, move_table, row)


def end_move(connection: Connection, crawler: str) -> bool:
    """Delete the move; the host gets new sites again. False if there was none."""
    return bool(connection.execute(delete(move_table).where(move_table.c.crawler == crawler)).rowcount)


def mark_moved(connection: Connection, crawler: str, now_s: float) -> None:
    connection.execute(update(move_table).where(move_table.c.crawler == crawler).values(moved_s=now_s))


def all_moves(connection: Connection) -> dict[str, OperatorMove]:
    """All moves, by crawler."""
    rows = connection.execute(select(move_table).order_by(move_table.c.crawler))
    return {
        row.crawler: OperatorMove(row.crawler, row.target, row.wanted_s, row.moved_s) for row in rows
    }


def remaining_sites(connection: Connection, crawler: str) -> list[SiteRow]:
    """Sites still to be released: all except those that the host's owner asked for."""
    rows = connection.execute(
        select(site_table)
        .where(
            site_table.c.crawler == crawler,
            site_table.c.ground != OWN_UNIT,
            site_table.c.state.in_((SiteStatus.DELEGATED, SiteStatus.RELEASING)),
        )
        .order_by(site_table.c.name)
    )
    return [site_row(row) for row in rows.mappings()]
