"""Decisions and new links -> sites assigned to crawlers for an epoch, and the orders to these crawlers.

Invariant: one owner per site. The site epoch rises with every assignment, and every assignment is recorded in
`store.assignments`. A link is marked as sent in the transaction that gives the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, bindparam, func, select, update

from ipmicra.coordinator.store import assignments, orders
from ipmicra.coordinator.store.sites import (
    OWN_UNIT,
    SITE_CHARACTERS_MAX,
    SiteRow,
    SiteStatus,
    add_links,
)
from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import handover_table, link_table, site_table
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Site, url_at
from ipmicra.protocol.host_messages import AssignedSite, AssignOwnSites, AssignSites

SITES_PER_ROUND = 500  # whose links are sent


class SiteAssignment(NamedTuple):
    """A site as it was when the decision began, and the crawler that was chosen for it."""

    site: SiteRow
    crawler: str
    address: str
    unit: str


def assign(connection: Connection, decisions: Sequence[SiteAssignment], now_s: float) -> None:
    """Write the decisions; a site that has links is assigned to its crawler, any other becomes `located`.

    A site whose epoch has changed since the decision began stays as it is.
    """
    for batch in in_batches(decisions):
        _assign_batch(connection, batch, now_s)


def _assign_batch(connection: Connection, batch: Sequence[SiteAssignment], now_s: float) -> None:
    links_of = _unchanged(connection, batch)
    valid = [one for one in batch if one.site.name in links_of]
    if not valid:
        return
    connection.execute(
        update(site_table)
        .where(site_table.c.name == bindparam("of_site"))
        .values(delegated_s=now_s, note="", epoch=site_table.c.epoch + 1),
        [_values(one, links_of[one.site.name]) for one in valid],
    )
    delegated = [one for one in valid if links_of[one.site.name] is not None]
    assignments.record_assignments(
        connection, [(one.site.name, one.crawler) for one in delegated], now_s
    )
    warm = _sites_with_state(connection, [one.site.name for one in delegated])
    for one in delegated:
        if one.site.name in warm:
            _order_with_state(connection, one, links_of[one.site.name], now_s)


def _unchanged(connection: Connection, batch: Sequence[SiteAssignment]) -> dict[str, str | None]:
    """One link, or None, for each site whose epoch has not changed since the decision began."""
    epochs = {one.site.name: one.site.epoch for one in batch}
    link = (
        select(link_table.c.url).where(link_table.c.site == site_table.c.name).limit(1).scalar_subquery()
    )
    query = select(site_table.c.name, site_table.c.epoch, link.label("link")).where(
        site_table.c.name.in_(epochs)
    )
    rows = connection.execute(query.with_for_update(of=site_table))
    return {row.name: row.link for row in rows if row.epoch == epochs[row.name]}


def _values(one: SiteAssignment, link: str | None) -> dict[str, object]:
    return {
        "of_site": one.site.name,
        "crawler": one.crawler,
        "address": one.address,
        "ground": one.unit,
        "state": SiteStatus.LOCATED if link is None else SiteStatus.DELEGATED,
    }


def _order_with_state(
    connection: Connection, one: SiteAssignment, link: str | None, now_s: float
) -> None:
    name, epoch = one.site.name, SiteEpoch(one.site.epoch + 1)
    links_known = () if link is None else (link,)
    grant = AssignedSite(site=name, epoch=epoch, address=one.address, links=links_known, has_state=True)
    orders.give(connection, one.crawler, AssignSites(grants=(grant,)), f"{name} {epoch}", now_s)


def _sites_with_state(connection: Connection, names: Sequence[str]) -> set[str]:
    """Those of the sites for which a former owner's state is stored."""
    if not names:
        return set()
    query = select(handover_table.c.site).where(handover_table.c.site.in_(names))
    return set(connection.execute(query).scalars())


def own_site_count(connection: Connection, host: str) -> int:
    """Sites that the host has because its owner asked for them."""
    own = (site_table.c.crawler == host, site_table.c.ground == OWN_UNIT)
    return int(connection.execute(select(func.count()).select_from(site_table).where(*own)).scalar_one())


def assign_own_site(connection: Connection, host: str, site: Site, now_s: float) -> bool:
    """Assign a site that the host's owner asked for, unless another crawler has it. True if assigned."""
    root = url_at(site, "/")
    add_links(connection, [root], now_s)
    epoch = connection.execute(
        update(site_table)
        .where(site_table.c.name == site, site_table.c.crawler.is_(None))
        .values(
            crawler=host,
            ground=OWN_UNIT,
            delegated_s=now_s,
            state=SiteStatus.DELEGATED,
            epoch=site_table.c.epoch + 1,
            note="its owner's own",
        )
        .returning(site_table.c.epoch)
    ).scalar()
    if epoch is None:
        return False
    assignments.record_assignments(connection, [(site, host)], now_s)
    has_state = site in _sites_with_state(connection, [site])
    grant = AssignedSite(site=site, epoch=SiteEpoch(epoch), links=(root,), has_state=has_state)
    orders.give(connection, host, AssignOwnSites(sites=(grant,)), f"{site} {epoch}", now_s)
    return True


# --- links ----------------------------------------------------------------------------------------


class _NewLink(NamedTuple):
    url: str
    site: str
    crawler: str
    epoch: SiteEpoch
    address: str


def send_links(connection: Connection, now_s: float, most: int, per_order: int) -> int:
    """Send new links of delegated sites to their crawlers. Returns the number of links.

    A site whose state its crawler has not fetched yet gets its links afterwards. The site whose links wait
    the longest is first; one with more links than fit into an order is then the last. The sites' rows are
    locked, so that a link which is stored meanwhile is not forgotten.
    """
    waiting: list[_NewLink] = []
    for site in _sites_with_unsent_links(connection):
        links = _unsent_links(connection, site, min(per_order, most - len(waiting)))
        waiting += links
        rest_s = None if len(links) < per_order else now_s
        if len(waiting) < most or rest_s is not None:
            connection.execute(
                update(site_table).where(site_table.c.name == site.name).values(unsent_s=rest_s)
            )
        if len(waiting) >= most:
            break
    _order_links(connection, waiting, per_order, now_s)
    for urls in in_batches([row.url for row in waiting]):
        connection.execute(update(link_table).where(link_table.c.url.in_(urls)).values(given_s=now_s))
    return len(waiting)


def _sites_with_unsent_links(connection: Connection) -> list[RowMapping]:
    query = (
        select(site_table.c.name, site_table.c.crawler, site_table.c.epoch, site_table.c.address)
        .where(
            site_table.c.state == SiteStatus.DELEGATED,
            site_table.c.unsent_s.is_not(None),
            site_table.c.name.not_in(select(handover_table.c.site)),
        )
        .order_by(site_table.c.unsent_s, site_table.c.name)
        .limit(SITES_PER_ROUND)
        .with_for_update(of=site_table, skip_locked=True)
    )
    return list(connection.execute(query).mappings())


def _unsent_links(connection: Connection, site: RowMapping, most: int) -> list[_NewLink]:
    links = (
        select(link_table.c.url)
        .where(link_table.c.site == site["name"], link_table.c.given_s.is_(None))
        .order_by(link_table.c.url)
        .limit(most)
    )
    return [
        _NewLink(url, site["name"], site["crawler"], site["epoch"], site["address"])
        for url in connection.execute(links).scalars()
    ]


def _order_links(
    connection: Connection, waiting: Sequence[_NewLink], per_order: int, now_s: float
) -> None:
    by_crawler: dict[str, list[_NewLink]] = {}
    for row in waiting:
        by_crawler.setdefault(row.crawler, []).append(row)
    for crawler, rows in by_crawler.items():
        for batch in in_batches(rows, per_order):
            key = f"links {batch[0].url} {now_s}"[-SITE_CHARACTERS_MAX:]
            orders.give(connection, crawler, _assign_order(batch), key, now_s)


def _assign_order(rows: Sequence[_NewLink]) -> AssignSites:
    by_site: dict[tuple[str, int, str], list[str]] = {}
    for row in rows:
        by_site.setdefault((row.site, row.epoch, row.address), []).append(row.url)
    return AssignSites(
        grants=tuple(
            AssignedSite(site=site, epoch=SiteEpoch(epoch), address=address, links=tuple(urls))
            for (site, epoch, address), urls in by_site.items()
        )
    )
