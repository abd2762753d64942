"""Links, decisions and silence -> whose each site is, and what its crawler is told about it.

| state       | means                                              | next                              |
|-------------|----------------------------------------------------|-----------------------------------|
| asked       | somebody wants to know who is nearest; no page yet | located, unreachable, waiting     |
| located     | known who is nearest; nobody crawls it             | waiting                           |
| waiting     | has pages to crawl and no crawler yet              | delegated, unreachable            |
| delegated   | one crawler's, for an epoch                        | releasing, waiting                |
| releasing   | its crawler is to let go of it and send its state  | waiting                           |
| unreachable | nobody could reach it; looked at again later       | delegated, located                |

Law: one owner per site. The epoch rises whenever a site gets an owner, and with it whatever was meant
for an owner before has ended. A link is marked as given in the transaction that gives the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, func, or_, select, update

from ipmicra.coordinator import orders
from ipmicra.coordinator.state.schema import handover as handovers
from ipmicra.coordinator.state.schema import link as links
from ipmicra.coordinator.state.schema import site as sites
from ipmicra.coordinator.state.upserts import insert_new
from ipmicra.crawler.decisions.urls import Site, Url, site_of, url_at
from ipmicra.dock.protocol import CrawlOwnSites, Grant, ReleaseThese, TakeThese

ROWS_AT_ONCE = 500  # in one INSERT: SQLite takes some 32,000 values
SITE_CHARACTERS_MAX = 300
OWN_GROUND = "own"  # of a site that its host's owner asked for: it moves with no subnet
URL_CHARACTERS_MAX = 2_000  # a PostgreSQL index entry has to hold it


class SiteState(StrEnum):
    ASKED = "asked"
    LOCATED = "located"
    WAITING = "waiting"
    DELEGATED = "delegated"
    RELEASING = "releasing"
    UNREACHABLE = "unreachable"


class SiteRow(NamedTuple):
    name: str
    address: str
    ground: str
    crawler: str | None
    epoch: int
    found_s: float
    delegated_s: float | None
    state: SiteState
    note: str


# --- what is found --------------------------------------------------------------------------------


def found(connection: Connection, urls: Iterable[Url], now_s: float) -> int:
    """Keep links; their sites wait for a crawler where they have none. Returns how many were new."""
    kept = {url: site_of(url) for url in urls if len(url) <= URL_CHARACTERS_MAX}
    kept = {url: site for url, site in kept.items() if len(site) <= SITE_CHARACTERS_MAX}
    names = list(dict.fromkeys(kept.values()))
    new = 0
    for at in range(0, len(names), ROWS_AT_ONCE):
        batch = names[at : at + ROWS_AT_ONCE]
        _add_sites(connection, batch, SiteState.WAITING, now_s)
        connection.execute(
            update(sites)
            .where(sites.c.name.in_(batch), sites.c.state.in_((SiteState.ASKED, SiteState.LOCATED)))
            .values(state=SiteState.WAITING)
        )
    rows = [{"url": url, "site": site, "found_s": now_s} for url, site in kept.items()]
    for at in range(0, len(rows), ROWS_AT_ONCE):
        new += insert_new(connection, links, rows[at : at + ROWS_AT_ONCE])
    return new


def ask_about(connection: Connection, site: str, now_s: float) -> SiteRow:
    """The site's row; a site nobody knows is entered as asked about."""
    _add_sites(connection, [site], SiteState.ASKED, now_s)
    row = site_named(connection, site)
    assert row is not None
    return row


def _add_sites(connection: Connection, names: Sequence[str], state: SiteState, now_s: float) -> None:
    insert_new(connection, sites, [{"name": name, "found_s": now_s, "state": state} for name in names])


# --- what is decided ------------------------------------------------------------------------------


def undecided(connection: Connection, now_s: float, retry_s: float, most: int) -> list[SiteRow]:
    """Sites to be delegated, the longest known first; what was unreachable comes again in time."""
    due = or_(
        sites.c.state.in_((SiteState.WAITING, SiteState.ASKED)),
        (sites.c.state == SiteState.UNREACHABLE) & (sites.c.delegated_s <= now_s - retry_s),
    )
    rows = connection.execute(
        select(sites).where(due).order_by(sites.c.found_s, sites.c.name).limit(most)
    )
    return [_row(row) for row in rows.mappings()]


def located(
    connection: Connection, site: SiteRow, crawler: str, address: str, ground: str, now_s: float
) -> None:
    """The site's nearest crawler is known; where it has pages waiting, it is that crawler's from now on."""
    link = connection.execute(select(links.c.url).where(links.c.site == site.name).limit(1)).scalar()
    state = SiteState.LOCATED if link is None else SiteState.DELEGATED
    epoch = connection.execute(
        update(sites)
        .where(sites.c.name == site.name, sites.c.epoch == site.epoch)
        .values(
            crawler=crawler,
            address=address,
            ground=ground,
            delegated_s=now_s,
            state=state,
            epoch=sites.c.epoch + 1,
            note="",
        )
        .returning(sites.c.epoch)
    ).scalar()
    if epoch is not None and link is not None and site.name in _with_state(connection, [site.name]):
        grant = Grant(site=site.name, epoch=int(epoch), address=address, links=(link,), has_state=True)
        orders.give(connection, crawler, TakeThese(grants=(grant,)), f"{site.name} {epoch}", now_s)


def _with_state(connection: Connection, names: Sequence[str]) -> set[str]:
    """Which of the sites have a former crawler's state waiting."""
    query = select(handovers.c.site).where(handovers.c.site.in_(names))
    return set(connection.execute(query).scalars())


def unreachable(connection: Connection, site: SiteRow, note: str, now_s: float) -> None:
    connection.execute(
        update(sites)
        .where(sites.c.name == site.name, sites.c.epoch == site.epoch)
        .values(state=SiteState.UNREACHABLE, note=note, delegated_s=now_s)
    )


def annotate(connection: Connection, site: SiteRow, note: str) -> None:
    """Say of a site why it is still waiting."""
    connection.execute(update(sites).where(sites.c.name == site.name).values(note=note))


class _NewLink(NamedTuple):
    url: str
    site: str
    crawler: str
    epoch: int
    address: str


def send_links(connection: Connection, now_s: float, most: int, per_order: int) -> int:
    """Order the crawlers of delegated sites to take the links that are new. Returns how many links.

    A site whose state is still to be fetched gets its links afterwards.
    """
    found_rows = connection.execute(
        select(links.c.url, links.c.site, sites.c.crawler, sites.c.epoch, sites.c.address)
        .join(sites, sites.c.name == links.c.site)
        .where(
            links.c.given_s.is_(None),
            sites.c.state == SiteState.DELEGATED,
            sites.c.name.not_in(select(handovers.c.site)),
        )
        .order_by(sites.c.crawler, links.c.site, links.c.url)
        .limit(most)
    )
    waiting = [_NewLink(*row) for row in found_rows]
    by_crawler: dict[str, list[_NewLink]] = {}
    for row in waiting:
        by_crawler.setdefault(row.crawler, []).append(row)
    for crawler, rows in by_crawler.items():
        for at in range(0, len(rows), per_order):
            key = f"links {rows[at].url} {now_s}"[-SITE_CHARACTERS_MAX:]
            orders.give(connection, crawler, _taking(rows[at : at + per_order]), key, now_s)
    urls = [row.url for row in waiting]
    for at in range(0, len(urls), ROWS_AT_ONCE):
        batch = urls[at : at + ROWS_AT_ONCE]
        connection.execute(update(links).where(links.c.url.in_(batch)).values(given_s=now_s))
    return len(urls)


def _taking(rows: Sequence[_NewLink]) -> TakeThese:
    by_site: dict[tuple[str, int, str], list[str]] = {}
    for row in rows:
        by_site.setdefault((row.site, row.epoch, row.address), []).append(row.url)
    return TakeThese(
        grants=tuple(
            Grant(site=site, epoch=epoch, address=address, links=tuple(urls))
            for (site, epoch, address), urls in by_site.items()
        )
    )


def claim_own(connection: Connection, host: str, site: Site, now_s: float) -> bool:
    """A host's owner wants an own site crawled from there: granted unless another crawler has it."""
    root = url_at(site, "/")
    found(connection, [root], now_s)
    epoch = connection.execute(
        update(sites)
        .where(sites.c.name == site, sites.c.crawler.is_(None))
        .values(
            crawler=host,
            ground=OWN_GROUND,
            delegated_s=now_s,
            state=SiteState.DELEGATED,
            epoch=sites.c.epoch + 1,
            note="its owner's own",
        )
        .returning(sites.c.epoch)
    ).scalar()
    if epoch is None:
        return False
    has_state = site in _with_state(connection, [site])
    grant = Grant(site=site, epoch=int(epoch), links=(root,), has_state=has_state)
    orders.give(connection, host, CrawlOwnSites(sites=(grant,)), f"{site} {epoch}", now_s)
    return True


# --- what moves -----------------------------------------------------------------------------------


def begin_release(connection: Connection, moving: Sequence[SiteRow], now_s: float) -> None:
    """Tell the owners to let go; their sites move when the state has come, or the patience has ended."""
    by_owner: dict[str, list[SiteRow]] = {}
    for site in moving:
        if site.state is SiteState.DELEGATED and site.crawler is not None:
            by_owner.setdefault(site.crawler, []).append(site)
    for owner, released in by_owner.items():
        names = [site.name for site in released]
        connection.execute(
            update(sites)
            .where(sites.c.name.in_(names), sites.c.state == SiteState.DELEGATED)
            .values(state=SiteState.RELEASING, delegated_s=now_s)
        )
        body = ReleaseThese(sites=tuple((site.name, site.epoch) for site in released))
        orders.give(connection, owner, body, f"{names[0]} {released[0].epoch}", now_s)


def released(connection: Connection, owner: str, name: str, epoch: int) -> None:
    """The owner has let go: the site waits for its next crawler, its state with us."""
    _free(connection, (sites.c.name == name, sites.c.crawler == owner, sites.c.epoch == epoch))


def end_releases(connection: Connection, now_s: float, patience_s: float) -> list[str]:
    """Sites whose owners have not let go in time. They begin again with the links that are known here."""
    late = list(
        connection.execute(
            select(sites.c.name).where(
                sites.c.state == SiteState.RELEASING, sites.c.delegated_s <= now_s - patience_s
            )
        ).scalars()
    )
    for name in late:
        _begin_again(connection, [name])
        _free(connection, (sites.c.name == name,))
    return late


def abandon(connection: Connection, crawler: str) -> int:
    """A crawler is gone with all it knew: its sites wait, with every link to be given again."""
    names = list(connection.execute(select(sites.c.name).where(sites.c.crawler == crawler)).scalars())
    for at in range(0, len(names), ROWS_AT_ONCE):
        _begin_again(connection, names[at : at + ROWS_AT_ONCE])
    kept = connection.execute(
        update(sites)
        .where(sites.c.crawler == crawler, sites.c.state == SiteState.LOCATED)
        .values(crawler=None, state=SiteState.ASKED, epoch=sites.c.epoch + 1)
    )
    _free(connection, (sites.c.crawler == crawler,))
    return len(names) - kept.rowcount


def _begin_again(connection: Connection, names: Sequence[str]) -> None:
    connection.execute(update(links).where(links.c.site.in_(names)).values(given_s=None))


def _free(connection: Connection, which: tuple[object, ...]) -> None:
    connection.execute(
        update(sites)
        .where(*which, sites.c.state.in_((SiteState.DELEGATED, SiteState.RELEASING)))  # type: ignore[arg-type]
        .values(crawler=None, state=SiteState.WAITING, epoch=sites.c.epoch + 1)
    )


# --- what is known --------------------------------------------------------------------------------


def site_named(connection: Connection, name: str) -> SiteRow | None:
    row = connection.execute(select(sites).where(sites.c.name == name)).mappings().first()
    return None if row is None else _row(row)


def delegated_sites(connection: Connection, grounds: Iterable[str]) -> list[SiteRow]:
    """The sites that are somebody's on these grounds."""
    which = (sites.c.ground.in_(list(grounds)), sites.c.state == SiteState.DELEGATED)
    return [_row(row) for row in connection.execute(select(sites).where(*which)).mappings()]


def counts(connection: Connection) -> dict[str, int]:
    """Sites by state."""
    rows = connection.execute(select(sites.c.state, func.count()).group_by(sites.c.state)).all()
    return {state: int(count) for state, count in sorted(tuple(row) for row in rows)}


def counts_by_crawler(connection: Connection) -> dict[str, int]:
    rows = connection.execute(
        select(sites.c.crawler, func.count())
        .where(sites.c.state.in_((SiteState.DELEGATED, SiteState.RELEASING)))
        .group_by(sites.c.crawler)
    ).all()
    return {crawler: int(count) for crawler, count in rows}


def _row(row: RowMapping) -> SiteRow:
    return SiteRow(
        row["name"], row["address"], row["ground"], row["crawler"], int(row["epoch"]), row["found_s"],
        row["delegated_s"], SiteState(row["state"]), row["note"],
    )  # fmt: skip
