"""A crawler that is no longer trusted -> its host revoked, and all its pages removed from the index.

The request is a row; the process that integrates packages executes it, because the index has one writer.
Invariant: once the request is committed, no package of the crawler is integrated; an interrupted purge is
repeated with the same result.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, update

from ipmicra.coordinator.store import blobs, events, failures, hosts
from ipmicra.coordinator.store.hosts import HostState
from ipmicra.coordinator.store.packages import PackageState
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.coordinator.store.sql.schema import memory_table, package_table
from ipmicra.errors import OperatorFault
from ipmicra.search.contract import SearchIndex

PACKAGES_AT_ONCE = 1_000  # refused in one transaction
_REQUEST = "purge "  # and the crawler's name
_ENDED = (HostState.REVOKED, HostState.LEFT)


def request_purge(connection: Connection, crawler: str, why: str, now_s: float) -> int:
    """Revoke the host and request the removal of its pages. Returns the number of packages refused."""
    host = hosts.host_named(connection, crawler)
    sent = connection.execute(
        select(package_table.c.sequence).where(package_table.c.crawler == crawler).limit(1)
    ).first()
    if host is None and sent is None:
        raise OperatorFault(
            f"there is no crawler {crawler!r}; see them with: ipmicra coordinator crawlers"
        )
    if host is not None and host.state not in _ENDED:
        hosts.end_host(connection, crawler, HostState.REVOKED)
    blobs.save(connection, _REQUEST + crawler, why.encode(), now_s)
    events.record(connection, events.EventKind.PURGE_WANTED, crawler, why, now_s)
    return connection.execute(
        update(package_table)
        .where(package_table.c.crawler == crawler, package_table.c.state == PackageState.KEPT)
        .values(state=PackageState.REFUSED, reason=f"purged: {why}", integrated_s=now_s)
    ).rowcount


def pending_purges(connection: Connection) -> list[str]:
    """Crawlers whose pages are still to be removed."""
    names = connection.execute(
        select(memory_table.c.name)
        .where(memory_table.c.name.startswith(_REQUEST))
        .order_by(memory_table.c.name)
    ).scalars()
    return [name.removeprefix(_REQUEST) for name in names]


def execute_purge(database: Database, index: SearchIndex, crawler: str, now_s: float) -> int:
    """Remove the crawler's pages: index first, rows second. Returns the number of pages.

    No transaction is open while the index works, and each refuses a few packages only: hosts write meanwhile.
    """
    pages = index.purge(crawler)
    while _refuse_some(database, crawler):
        pass
    with database.begin() as connection:
        failures.delete_failures(connection, crawler)
        connection.execute(delete(memory_table).where(memory_table.c.name == _REQUEST + crawler))
        detail = f"{pages:,} pages were taken out of the index"
        events.record(connection, events.EventKind.PURGED, crawler, detail, now_s)
    return pages


def _refuse_some(database: Database, crawler: str) -> int:
    """An index that is made anew from packages leaves them out. Returns how many were refused."""
    rows = package_table.c
    some = (
        select(rows.sequence)
        .where(rows.crawler == crawler, rows.state == PackageState.INTEGRATED)
        .limit(PACKAGES_AT_ONCE)
    )
    with database.begin() as connection:
        why = blobs.read(connection, _REQUEST + crawler) or b""
        return connection.execute(
            update(package_table)
            .where(rows.crawler == crawler, rows.sequence.in_(some))
            .values(state=PackageState.REFUSED, reason=f"purged: {why.decode()}")
        ).rowcount
