"""Several replicas -> one leader, by a lease row with a term (the column `epoch`).

Invariant: a leader acquires or renews the lease in the transaction of everything that it writes, and writes
nothing if that fails. The row is locked until the commit, so a leader that was suspended past its lease finds
another term in it and cannot write. The term rises whenever the lease changes its holder.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, or_, update

from ipmicra.coordinator.store.sql.schema import leader_table
from ipmicra.coordinator.store.sql.upserts import insert_new
from ipmicra.model.ids import LeaderTerm

AHEAD_LEASES_MAX = 4  # how far another replica's clock may be ahead of ours


class LeaderLease(NamedTuple):
    """A lease that is held: its name, holder, term and end."""

    name: str
    holder: str
    epoch: LeaderTerm
    until_s: float


def acquire_or_renew(
    connection: Connection, name: str, holder: str, now_s: float, lease_s: float
) -> LeaderLease | None:
    """Acquire or renew the lease; None while another replica holds it."""
    until_s = now_s + lease_s
    first = {"office": name, "holder": holder, "epoch": 1, "until_s": until_s}
    if insert_new(connection, leader_table, [first]):
        return LeaderLease(name, holder, LeaderTerm(1), until_s)
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
    """Expired, or so far ahead that a wrong clock must have written it."""
    return or_(
        leader_table.c.until_s <= now_s, leader_table.c.until_s > now_s + AHEAD_LEASES_MAX * lease_s
    )


def resign(connection: Connection, lease: LeaderLease) -> None:
    """Give the lease up, so that the next leader does not wait for it to expire."""
    connection.execute(
        update(leader_table)
        .where(leader_table.c.office == lease.name, leader_table.c.epoch == lease.epoch)
        .values(until_s=0.0)
    )
