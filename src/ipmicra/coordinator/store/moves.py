"""An operator's wish that a crawler moves to another host -> a row, until it has moved and is resumed.

Law: while there is a row its host gets nothing new. Who moves is told by rows alone, so a leader that dies
in the middle leaves all of it to the next.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, select, update

from ipmicra.coordinator.store.schema import move_table, site_table
from ipmicra.coordinator.store.sites import OWN_UNIT, SiteRow, SiteStatus, site_row
from ipmicra.coordinator.store.upserts import put


class OperatorMove(NamedTuple):
    crawler: str
    target: str
    wanted_s: float
    moved_s: float | None  # when it had let go of its last site


def request_move(connection: Connection, crawler: str, target: str, now_s: float) -> None:
    """The crawler is to move; an earlier wish is forgotten."""
    row = {"crawler": crawler, "target": target, "wanted_s": now_s, "moved_s": None}
    put(connection, move_table, row)


def end_move(connection: Connection, crawler: str) -> bool:
    """Its host may be given sites again. False where it did not move."""
    return bool(connection.execute(delete(move_table).where(move_table.c.crawler == crawler)).rowcount)


def mark_moved(connection: Connection, crawler: str, now_s: float) -> None:
    connection.execute(update(move_table).where(move_table.c.crawler == crawler).values(moved_s=now_s))


def all_moves(connection: Connection) -> dict[str, OperatorMove]:
    """By who moves."""
    rows = connection.execute(select(move_table).order_by(move_table.c.crawler))
    return {
        row.crawler: OperatorMove(row.crawler, row.target, row.wanted_s, row.moved_s) for row in rows
    }


def remaining_sites(connection: Connection, crawler: str) -> list[SiteRow]:
    """What is still to go: everything but the sites that its host's owner asked for."""
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
