"""Several replicas -> one leader for an office, by a lease row with an epoch.

Law: who holds an office does so for an epoch; whatever a leader writes it writes with its epoch, and a
write with an older epoch is refused. So a leader that slept through its lease can do no harm when it
wakes.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, select, update

from ipmicra.coordinator.store.schema import leader_table
from ipmicra.coordinator.store.upserts import insert_new

AHEAD_LEASES_MAX = 4  # as far ahead of ours as another replica's clock may be


class LeaderLease(NamedTuple):
    """An office held: until when, and in which epoch."""

    name: str
    holder: str
    epoch: int
    until_s: float


def acquire_or_renew(
    connection: Connection, name: str, holder: str, now_s: float, lease_s: float
) -> LeaderLease | None:
    """Take or keep an office; None while somebody else has it."""
    until_s = now_s + lease_s
    first = {"office": name, "holder": holder, "epoch": 1, "until_s": until_s}
    if insert_new(connection, leader_table, [first]):
        return LeaderLease(name, holder, 1, until_s)
    kept = connection.execute(
        update(leader_table)
        .where(leader_table.c.office == name, leader_table.c.holder == holder, ~_is_over(now_s, lease_s))
        .values(until_s=until_s)
        .returning(leader_table.c.epoch)
    ).scalar()
    if kept is not None:
        return LeaderLease(name, holder, kept, until_s)
    taken = connection.execute(
        update(leader_table)
        .where(
            leader_table.c.office == name, or_(_is_over(now_s, lease_s), leader_table.c.holder == holder)
        )
        .values(holder=holder, epoch=leader_table.c.epoch + 1, until_s=until_s)
        .returning(leader_table.c.epoch)
    ).scalar()
    return None if taken is None else LeaderLease(name, holder, taken, until_s)


def _is_over(now_s: float, lease_s: float) -> ColumnElement[bool]:
    """Run out, or so far ahead that a wrong clock must have written it."""
    return or_(
        leader_table.c.until_s <= now_s, leader_table.c.until_s > now_s + AHEAD_LEASES_MAX * lease_s
    )


def still_holds(connection: Connection, office: LeaderLease) -> bool:
    """Whether the epoch has not moved on; asked inside the transaction that writes."""
    row = select(leader_table.c.epoch).where(leader_table.c.office == office.name).with_for_update()
    return connection.execute(row).scalar() == office.epoch


def resign(connection: Connection, office: LeaderLease) -> None:
    """Give the office up at once, so that the next need not wait for the lease to end."""
    connection.execute(
        update(leader_table)
        .where(leader_table.c.office == office.name, leader_table.c.epoch == office.epoch)
        .values(until_s=0.0)
    )
