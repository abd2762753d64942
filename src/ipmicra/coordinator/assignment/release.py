"""Sites that change owner -> release orders to their crawlers, and sites that wait for a new one.

Invariant: a site gets a new owner only after its crawler has released it, or after the time limit for the
release. Orders and links for the former owner end with its site epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, or_, select, update

from ipmicra.coordinator.store import assignments, orders
from ipmicra.coordinator.store.sites import SiteRow, SiteStatus
from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import link_table, site_table
from ipmicra.model.ids import SiteEpoch
from ipmicra.protocol.host_messages import ReleaseSites


def begin_release(connection: Connection, moving: Sequence[SiteRow], now_s: float) -> None:
    """Order the owners to release the sites; a site waits for a new owner after its release or a time
    limit.
    """
    by_owner: dict[str, list[SiteRow]] = {}
    for site in moving:
        if site.state is SiteStatus.DELEGATED and site.crawler is not None:
            by_owner.setdefault(site.crawler, []).append(site)
    by_order = [(owner, batch) for owner, owned in by_owner.items() for batch in in_batches(owned)]
    for owner, released in by_order:
        names = [site.name for site in released]
        connection.execute(
            update(site_table)
            .where(site_table.c.name.in_(names), site_table.c.state == SiteStatus.DELEGATED)
            .values(state=SiteStatus.RELEASING, delegated_s=now_s)
        )
        body = ReleaseSites(sites=tuple((site.name, site.epoch) for site in released))
        orders.give(connection, owner, body, f"{names[0]} {released[0].epoch}", now_s)


def on_site_released(connection: Connection, owner: str, name: str, epoch: SiteEpoch) -> None:
    """The owner has released the site and its state is stored: the site waits for its next crawler."""
    _unassign(
        connection, site_table.c.name == name, site_table.c.crawler == owner, site_table.c.epoch == epoch
    )


def expire_releases(connection: Connection, now_s: float, patience_s: float) -> list[str]:
    """Take back sites that were not released in time; all their known links are sent again. Returns the
    names.

    A release that began in the future was written by a wrong clock, and has ended too.
    """
    late = list(
        connection.execute(
            select(site_table.c.name).where(
                site_table.c.state == SiteStatus.RELEASING,
                or_(
                    site_table.c.delegated_s <= now_s - patience_s,
                    site_table.c.delegated_s > now_s + patience_s,
                ),
            )
        ).scalars()
    )
    for name in late:
        _resend_links(connection, [name])
        _unassign(connection, site_table.c.name == name)
    return late


def release_all(connection: Connection, crawler: str) -> int:
    """Take back all sites of a crawler that is gone; links are sent again. Returns the number of sites."""
    names = list(
        connection.execute(select(site_table.c.name).where(site_table.c.crawler == crawler)).scalars()
    )
    for batch in in_batches(names):
        _resend_links(connection, batch)
    reopened = reopen_located(connection, crawler)
    _unassign(connection, site_table.c.crawler == crawler)
    assignments.delete_ended(connection, crawler)
    return len(names) - reopened


def reopen_located(connection: Connection, crawler: str) -> int:
    """Re-open located (not crawled) sites of this crawler for a new decision. Returns the number of sites."""
    reopened = connection.execute(
        update(site_table)
        .where(site_table.c.crawler == crawler, site_table.c.state == SiteStatus.LOCATED)
        .values(crawler=None, state=SiteStatus.ASKED, epoch=site_table.c.epoch + 1)
    )
    return reopened.rowcount


def _resend_links(connection: Connection, names: Sequence[str]) -> None:
    connection.execute(update(link_table).where(link_table.c.site.in_(names)).values(given_s=None))
    connection.execute(
        update(site_table).where(site_table.c.name.in_(names)).values(unsent_s=site_table.c.found_s)
    )


def _unassign(connection: Connection, *which: ColumnElement[bool]) -> None:
    connection.execute(
        update(site_table)
        .where(*which, site_table.c.state.in_((SiteStatus.DELEGATED, SiteStatus.RELEASING)))
        .values(crawler=None, state=SiteStatus.WAITING, epoch=site_table.c.epoch + 1)
    )
