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
from ipmicra.coordinator.store.sql.schema import memory_table, package_table
from ipmicra.errors import OperatorFault
from ipmicra.search.contract import SearchIndex

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
    events.record(connection, "purge-wanted", crawler, why, now_s)
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


def execute_purge(connection: Connection, index: SearchIndex, crawler: str, now_s: float) -> int:
    """Remove the crawler's pages: index first, row second. Returns the number of pages."""
    pages = index.purge(crawler)
    why = blobs.read(connection, _REQUEST + crawler) or b""
    connection.execute(  # an index that is made anew from packages leaves them out
        update(package_table)
        .where(package_table.c.crawler == crawler, package_table.c.state == PackageState.INTEGRATED)
        .values(state=PackageState.REFUSED, reason=f"purged: {why.decode()}")
    )
    failures.delete_failures(connection, crawler)
    connection.execute(delete(memory_table).where(memory_table.c.name == _REQUEST + crawler))
    events.record(connection, "purged", crawler, f"{pages:,} pages were taken out of the index", now_s)
    return pages
