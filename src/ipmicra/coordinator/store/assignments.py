"""Assignments of sites to crawlers, by lease -> which sites a crawler's package may contain.

Invariant: a crawler may report on a site only if the site was assigned to it under the same lease epoch in
which the package was made; an assignment under an earlier lease does not count. Rows of an ended lease are
deleted when there is no package of that lease: a rebuild of the index filters all packages again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, exists, select

from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import grant_table, host_table, package_table
from ipmicra.coordinator.store.sql.upserts import insert_new
from ipmicra.model.ids import LeaseEpoch


def record_assignments(
    connection: Connection, assigned: Sequence[tuple[str, str]], now_s: float
) -> None:
    """Record pairs of site and crawler under the crawlers' current leases."""
    names = list(dict.fromkeys(crawler for _, crawler in assigned))
    query = select(host_table.c.name, host_table.c.epoch).where(host_table.c.name.in_(names))
    leases = {row.name: row.epoch for row in connection.execute(query)} if names else {}
    rows = [
        {"crawler": crawler, "lease_epoch": leases[crawler], "site": site, "granted_s": now_s}
        for site, crawler in assigned
        if crawler in leases
    ]
    for batch in in_batches(rows):
        insert_new(connection, grant_table, batch)


def unassigned_sites(
    connection: Connection, crawler: str, lease_epoch: LeaseEpoch, sites: Iterable[str]
) -> set[str]:
    """Those of the sites that were not assigned to the crawler under that lease."""
    wanted = sorted(set(sites))
    known: set[str] = set()
    for batch in in_batches(wanted):
        known.update(
            connection.execute(
                select(grant_table.c.site).where(
                    grant_table.c.crawler == crawler,
                    grant_table.c.lease_epoch == lease_epoch,
                    grant_table.c.site.in_(batch),
                )
            ).scalars()
        )
    return set(wanted) - known


def delete_ended(connection: Connection, crawler: str) -> None:
    """Delete assignments of the crawler's ended leases, except those that a package still needs."""
    current = select(host_table.c.epoch).where(host_table.c.name == crawler).scalar_subquery()
    waits = exists().where(
        package_table.c.crawler == crawler,
        package_table.c.epoch == grant_table.c.lease_epoch,
        package_table.c.state.in_(("kept", "integrated")),
    )
    connection.execute(
        delete(grant_table).where(
            grant_table.c.crawler == crawler, grant_table.c.lease_epoch < current, ~waits
        )
    )
