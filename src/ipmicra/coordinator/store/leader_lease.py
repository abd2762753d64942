"""Several replicas -> one leader for an office, by a lease row with an epoch.

Invariant: a leader takes or renews the lease in the transaction of all that it writes, and writes nothing
where that failed. The row is locked until the commit, so a leader that slept through its lease finds
another's epoch in it and can do no harm. The epoch rises whenever the lease changes hands.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, update

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
    renewed_epoch = connection.execute(
        update(leader_table)
        .where(
            leader_table.c.office == name, leader_table.c.holder == holder, ~_has_ended(now_s, lease_s)
        )
        .values(until_s=until_s)
        .returning(leader_table.c.epoch)
    ).scalar()
    if renewed_epoch is not None:
        return LeaderLease(name, holder, renewed_epoch, until_s)
    new_epoch = connection.execute(
        update(leader_table)
        .where(
            leader_table.c.office == name,
            or_(_has_ended(now_s, lease_s), leader_table.c.holder == holder),
        )
        .values(holder=holder, epoch=leader_table.c.epoch + 1, until_s=until_s)
        .returning(leader_table.c.epoch)
    ).scalar()
    return None if new_epoch is None else LeaderLease(name, holder, new_epoch, until_s)


def _has_ended(now_s: float, lease_s: float) -> ColumnElement[bool]:
    """Run out, or so far ahead that a wrong clock must have written it."""
    return or_(
        leader_table.c.until_s <= now_s, leader_table.c.until_s > now_s + AHEAD_LEASES_MAX * lease_s
    )


def resign(connection: Connection, lease: LeaderLease) -> None:
    """Give the office up at once, so that the next need not wait for the lease to end."""
    connection.execute(
        update(leader_table)
        .where(leader_table.c.office == lease.name, leader_table.c.epoch == lease.epoch)
        .values(until_s=0.0)
    )
