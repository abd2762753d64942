"""Sites that change hands -> their owners told to let go; what is left behind waits for the next.

Law: a site moves only after its crawler has let go of it, or the patience with that crawler has ended.
Whatever was meant for an owner before ends with its epoch.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, or_, select, update

from ipmicra.coordinator.store import assignments, orders
from ipmicra.coordinator.store.batches import in_batches
from ipmicra.coordinator.store.schema import link_table, site_table
from ipmicra.coordinator.store.sites import SiteRow, SiteStatus
from ipmicra.protocol.host_messages import ReleaseSites


def begin_release(connection: Connection, moving: Sequence[SiteRow], now_s: float) -> None:
    """Tell the owners to let go; their sites move when the state has come, or the patience has ended."""
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


def on_site_released(connection: Connection, owner: str, name: str, epoch: int) -> None:
    """The owner has let go: the site waits for its next crawler, its state with us."""
    _unassign(
        connection, site_table.c.name == name, site_table.c.crawler == owner, site_table.c.epoch == epoch
    )


def expire_releases(connection: Connection, now_s: float, patience_s: float) -> list[str]:
    """Sites whose owners have not let go in time. They begin again with the links that are known here.

    What was begun far ahead of now was begun by a clock that was wrong, and is over too.
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
    """A crawler is gone with all it knew: its sites wait, with every link to be given again."""
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
    """Sites that nobody crawls, and that the crawler was nearest to: another is. Returns how many."""
    reopened = connection.execute(
        update(site_table)
        .where(site_table.c.crawler == crawler, site_table.c.state == SiteStatus.LOCATED)
        .values(crawler=None, state=SiteStatus.ASKED, epoch=site_table.c.epoch + 1)
    )
    return reopened.rowcount


def _resend_links(connection: Connection, names: Sequence[str]) -> None:
    connection.execute(update(link_table).where(link_table.c.site.in_(names)).values(given_s=None))


def _unassign(connection: Connection, *which: ColumnElement[bool]) -> None:
    connection.execute(
        update(site_table)
        .where(*which, site_table.c.state.in_((SiteStatus.DELEGATED, SiteStatus.RELEASING)))
        .values(crawler=None, state=SiteStatus.WAITING, epoch=site_table.c.epoch + 1)
    )
