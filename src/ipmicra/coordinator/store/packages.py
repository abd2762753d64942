"""Packages that arrive -> stored, acknowledged, integrated; a repeated arrival has no further effect.

| state      | means                                               | next                 |
|------------|-----------------------------------------------------|----------------------|
| kept       | received: synced to the store, row committed        | integrated, refused  |
| integrated | in the index; its links are rows                    |                      |
| refused    | nothing in it is usable; stored with the reason     |                      |

Invariant: the acknowledgement is sent after the commit, which comes after the sync to the store. The same
package is acknowledged again; a different package with the same number is refused. A worker claims a package
for a limited time, and another worker may claim it after that, so the work of a killed worker is continued.
"""

from __future__ import annotations

from enum import StrEnum
from mmap import mmap
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, tuple_, update

from ipmicra.carrier.package import digest_of
from ipmicra.coordinator.store.hosts import HostRefused
from ipmicra.coordinator.store.package_bytes import file_store
from ipmicra.coordinator.store.package_bytes.file_store import PackageStore
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import host_table, package_table
from ipmicra.coordinator.store.sql.upserts import insert_new
from ipmicra.model.ids import LeaseEpoch

CLAIM_SECONDS_MAX = 3_600.0  # a claim that ends later was written by a wrong clock


class PackageState(StrEnum):
    KEPT = "kept"
    INTEGRATED = "integrated"
    REFUSED = "refused"


class PackageArrival(NamedTuple):
    """A package as a host delivers it, made in a lease epoch of that host."""

    crawler: str
    sequence: int
    digest: str
    epoch: LeaseEpoch
    data: bytes | mmap


class ClaimedPackage(NamedTuple):
    """A package that a worker may integrate until its claim expires."""

    crawler: str
    sequence: int
    digest: str
    epoch: LeaseEpoch = LeaseEpoch(0)  # the host's lease epoch in which it was made


def receive(database: Database, store: PackageStore, arrival: PackageArrival, now_s: float) -> bool:
    """Store a package; on return it may be acknowledged. True the first time. Raises `HostRefused`."""
    if digest_of(arrival.data) != arrival.digest:
        raise HostRefused("digest", "the bytes do not match the announced digest")
    with database.begin() as connection:
        if _is_known(connection, arrival):
            return False
        _check_epoch(connection, arrival)
    file_store.keep(store, arrival.digest, arrival.data)
    with database.begin() as connection:
        _check_epoch(connection, arrival)
        row = {
            "crawler": arrival.crawler,
            "sequence": arrival.sequence,
            "digest": arrival.digest,
            "package_bytes": len(arrival.data),
            "epoch": arrival.epoch,
            "received_s": now_s,
            "state": PackageState.KEPT,
        }
        if insert_new(connection, package_table, [row]):
            return True
        _is_known(connection, arrival)
        return False


def _is_known(connection: Connection, arrival: PackageArrival) -> bool:
    known = connection.execute(
        select(package_table.c.digest).where(
            package_table.c.crawler == arrival.crawler, package_table.c.sequence == arrival.sequence
        )
    ).scalar()
    if known is not None and known != arrival.digest:
        raise HostRefused(
            "number",
            f"package {arrival.sequence} from {arrival.crawler!r} was already received with another digest",
        )
    return known is not None


def _check_epoch(connection: Connection, arrival: PackageArrival) -> None:
    """Refuse a package of an ended lease: its sites are assigned to other crawlers by now."""
    current = connection.execute(
        select(host_table.c.epoch).where(host_table.c.name == arrival.crawler).with_for_update()
    ).scalar()
    if current is None or arrival.epoch != current:
        raise HostRefused(
            "epoch",
            f"made in lease epoch {arrival.epoch}, but the current one is {current}: the host was silent for "
            "too long and its sites were assigned to others",
        )


def claim(
    connection: Connection, worker: str, now_s: float, claim_s: float, most: int
) -> list[ClaimedPackage]:
    """Claim packages that no other worker has claimed, oldest first."""
    key = (package_table.c.crawler, package_table.c.sequence)
    free = _is_free(now_s)
    picked = (
        select(*key)
        .where(and_(package_table.c.state == PackageState.KEPT, free))
        .order_by(package_table.c.received_s, package_table.c.crawler, package_table.c.sequence)
        .limit(most)
        .with_for_update(skip_locked=True)
        .cte("picked")
    )
    if connection.dialect.name == "postgresql":
        picked = picked.prefix_with("MATERIALIZED", dialect="postgresql")
    rows = connection.execute(
        update(package_table)
        .where(tuple_(*key).in_(select(picked.c.crawler, picked.c.sequence)))
        .values(claimed_by=worker, claimed_until_s=now_s + claim_s)
        .returning(
            package_table.c.crawler,
            package_table.c.sequence,
            package_table.c.digest,
            package_table.c.epoch,
        )
    ).all()
    return sorted(ClaimedPackage(*row) for row in rows)


def has_pending(connection: Connection, now_s: float) -> bool:
    """Whether there is an unclaimed package to integrate."""
    query = select(package_table.c.digest).where(
        package_table.c.state == PackageState.KEPT, _is_free(now_s)
    )
    return connection.execute(query.limit(1)).first() is not None


def _is_free(now_s: float) -> ColumnElement[bool]:
    """Not claimed, or the claim has expired, or it was written by a wrong clock."""
    until_s = package_table.c.claimed_until_s
    return or_(until_s.is_(None), until_s <= now_s, until_s > now_s + CLAIM_SECONDS_MAX)


def received_s(connection: Connection, claim: ClaimedPackage) -> float:
    """When the package was acknowledged."""
    key = (package_table.c.crawler == claim.crawler, package_table.c.sequence == claim.sequence)
    return float(connection.execute(select(package_table.c.received_s).where(*key)).scalar() or 0.0)


def mark_integrated(
    connection: Connection, done: ClaimedPackage, now_s: float, reason: str = ""
) -> bool:
    """Mark a package as integrated, in the transaction that writes its links. True the first time.

    `reason` says why some of its records were left out.
    """
    return _close(connection, done, PackageState.INTEGRATED, reason, now_s)


def mark_refused(connection: Connection, done: ClaimedPackage, reason: str, now_s: float) -> bool:
    """Mark a package that cannot be integrated; its bytes stay in the store. True the first time."""
    return _close(connection, done, PackageState.REFUSED, reason, now_s)


def _close(
    connection: Connection, done: ClaimedPackage, state: PackageState, reason: str, now_s: float
) -> bool:
    changed = connection.execute(
        update(package_table)
        .where(
            package_table.c.crawler == done.crawler,
            package_table.c.sequence == done.sequence,
            package_table.c.state == PackageState.KEPT,
        )
        .values(state=state, reason=reason, integrated_s=now_s, claimed_by=None, claimed_until_s=None)
    )
    return bool(changed.rowcount)


def counts(connection: Connection) -> dict[str, int]:
    """Packages by state."""
    rows = connection.execute(
        select(package_table.c.state, func.count()).group_by(package_table.c.state)
    ).all()
    return {state: int(count) for state, count in sorted(tuple(row) for row in rows)}
