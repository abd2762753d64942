"""New links and queries for the nearest crawler -> the known sites, each with its state.

| state       | means                                              | next                              |
|-------------|----------------------------------------------------|-----------------------------------|
| asked       | a client asked for the nearest crawler; no links   | located, unreachable, waiting     |
| located     | the nearest crawler is known; not crawled          | waiting                           |
| waiting     | has links, and no crawler yet                      | delegated, unreachable            |
| delegated   | assigned to one crawler, for a site epoch          | releasing, waiting                |
| releasing   | its crawler has the order to release it            | waiting                           |
| unreachable | no crawler could reach it; tried again later       | delegated, located                |

`assignment.assigner` gives a site an owner, `assignment.release` takes it away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    RowMapping,
    bindparam,
    func,
    or_,
    select,
    update,
)

from ipmicra.coordinator.store.sql.batches import in_batches
from ipmicra.coordinator.store.sql.schema import link_table, site_table
from ipmicra.coordinator.store.sql.upserts import insert_new
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Url, site_of

SITE_CHARACTERS_MAX = 300
OWN_UNIT = "own"  # the unit of a site that its host's owner asked for: it moves with no subnet
LINKS_AT_ONCE_MAX = 100_000  # in one transaction
OPERATOR_SPACING_S = 0.01  # between the places in the queue of an operator's sites: see store.intake
RETRY_DIVISOR = 4
URL_CHARACTERS_MAX = 2_000  # must fit into a PostgreSQL index entry


class SiteStatus(StrEnum):
    ASKED = "asked"
    LOCATED = "located"
    WAITING = "waiting"
    DELEGATED = "delegated"
    RELEASING = "releasing"
    UNREACHABLE = "unreachable"


class SiteRow(NamedTuple):
    name: str
    address: str
    unit: str
    crawler: str | None
    epoch: SiteEpoch
    found_s: float
    delegated_s: float | None
    state: SiteStatus
    note: str


# --- new links and sites --------------------------------------------------------------------------


def add_links(connection: Connection, urls: Iterable[Url], now_s: float) -> int:
    """Store the operator's links; their sites are queued now. Returns the number of new links."""
    taken = [url for url in islice(urls, LINKS_AT_ONCE_MAX) if len(url) <= URL_CHARACTERS_MAX]
    sites_by_url = {url: site_of(url) for url in taken}
    sites_by_url = {url: site for url, site in sites_by_url.items() if len(site) <= SITE_CHARACTERS_MAX}
    names = dict.fromkeys(sites_by_url.values())
    places: dict[str, float] = {
        name: now_s + number * OPERATOR_SPACING_S for number, name in enumerate(names)
    }
    queue_sites(connection, places, now_s)
    return insert_links(connection, sites_by_url, now_s)


def queue_sites(connection: Connection, places: Mapping[str, float], now_s: float) -> None:
    """Let sites wait for a crawler, each at its place in the queue; a site keeps a place that is better."""
    rows = [
        {"name": name, "found_s": now_s, "state": SiteStatus.WAITING, "queued_s": queued_s}
        for name, queued_s in places.items()
    ]
    for batch in in_batches(rows):
        insert_new(connection, site_table, batch)
    asked = or_(site_table.c.state == SiteStatus.ASKED, site_table.c.state == SiteStatus.LOCATED)
    behind = (site_table.c.state == SiteStatus.WAITING) & (site_table.c.queued_s > bindparam("better_s"))
    if rows:
        connection.execute(
            update(site_table)
            .where(site_table.c.name == bindparam("of_site"), or_(asked, behind))
            .values(state=SiteStatus.WAITING, queued_s=bindparam("better_s")),
            [{"of_site": name, "better_s": queued_s} for name, queued_s in places.items()],
        )


def insert_links(connection: Connection, sites_by_url: Mapping[Url, str], now_s: float) -> int:
    """Store links of known sites; their crawlers are sent the new ones. Returns the number of new links."""
    rows = [{"url": url, "site": site, "found_s": now_s} for url, site in sites_by_url.items()]
    since_s = func.coalesce(site_table.c.unsent_s, now_s)
    for names in in_batches(sorted(set(sites_by_url.values()))):
        connection.execute(
            update(site_table).where(site_table.c.name.in_(names)).values(unsent_s=since_s)
        )
    return sum(insert_new(connection, link_table, batch) for batch in in_batches(rows))


def ensure_known(connection: Connection, site: str, queued_s: float, now_s: float) -> SiteRow:
    """The site's row; an unknown site is added in the state `asked`."""
    asked = {"name": site, "found_s": now_s, "state": SiteStatus.ASKED, "queued_s": queued_s}
    insert_new(connection, site_table, [asked])
    row = site_named(connection, site)
    assert row is not None
    return row


def known_names(connection: Connection, names: Sequence[str]) -> set[str]:
    """Those of the names that have a row."""
    found: set[str] = set()
    for batch in in_batches(names):
        query = select(site_table.c.name).where(site_table.c.name.in_(batch))
        found.update(connection.execute(query).scalars())
    return found


# --- decisions ------------------------------------------------------------------------------------


def pending_assignment(connection: Connection, now_s: float, retry_s: float, most: int) -> list[SiteRow]:
    """Sites to be delegated, by their place in the queue; unreachable ones again after `retry_s`.

    Those that are tried again take a quarter of the places at most, unless nobody else waits.
    """
    waiting = _first(connection, site_table.c.state == SiteStatus.WAITING, site_table.c.queued_s, most)
    asked = _first(connection, site_table.c.state == SiteStatus.ASKED, site_table.c.queued_s, most)
    fresh = [row for _, row in sorted(waiting + asked, key=lambda one: (one[0], one[1].name))]
    due = or_(site_table.c.delegated_s <= now_s - retry_s, site_table.c.delegated_s > now_s + retry_s)
    unreachable = (site_table.c.state == SiteStatus.UNREACHABLE) & due
    again = [row for _, row in _first(connection, unreachable, site_table.c.delegated_s, most)]
    room = most - min(len(again), most // RETRY_DIVISOR)
    return [*fresh[:room], *again][:most]


def _first(
    connection: Connection, which: ColumnElement[bool], place: Column[float], most: int
) -> list[tuple[float, SiteRow]]:
    query = select(site_table).where(which).order_by(place).limit(most)
    return [(row[place.name], site_row(row)) for row in connection.execute(query).mappings()]


def mark_unreachable(connection: Connection, which: Sequence[tuple[SiteRow, str]], now_s: float) -> None:
    """Mark sites that no crawler could reach, each with the reason."""
    _update_each(connection, which, state=SiteStatus.UNREACHABLE, delegated_s=now_s)


def set_notes(connection: Connection, which: Sequence[tuple[SiteRow, str]]) -> None:
    """Write why each of the sites is still waiting."""
    _update_each(connection, which)


def _update_each(
    connection: Connection, which: Sequence[tuple[SiteRow, str]], **values: str | float
) -> None:
    if which:
        connection.execute(
            update(site_table)
            .where(
                site_table.c.name == bindparam("of_site"), site_table.c.epoch == bindparam("in_epoch")
            )
            .values(**values),
            [{"of_site": row.name, "in_epoch": row.epoch, "note": note} for row, note in which],
        )


# --- queries --------------------------------------------------------------------------------------


def site_named(connection: Connection, name: str) -> SiteRow | None:
    row = connection.execute(select(site_table).where(site_table.c.name == name)).mappings().first()
    return None if row is None else site_row(row)


def delegated_sites(connection: Connection, units: Iterable[str]) -> list[SiteRow]:
    """The delegated sites in these units."""
    found_rows: list[SiteRow] = []
    for batch in in_batches(list(units)):
        which = (site_table.c.ground.in_(batch), site_table.c.state == SiteStatus.DELEGATED)
        found_rows += map(site_row, connection.execute(select(site_table).where(*which)).mappings())
    return found_rows


def delegated_anywhere(connection: Connection, most: int) -> list[SiteRow]:
    """Delegated sites with a known address, in the order of their names."""
    which = (site_table.c.state == SiteStatus.DELEGATED, site_table.c.address != "")
    rows = connection.execute(select(site_table).where(*which).order_by(site_table.c.name).limit(most))
    return [site_row(row) for row in rows.mappings()]


def delegated_to(connection: Connection, crawler: str, most: int) -> list[SiteRow]:
    """Sites of one crawler with a known address, the latest delegated first."""
    which = (
        site_table.c.crawler == crawler,
        site_table.c.state == SiteStatus.DELEGATED,
        site_table.c.address != "",
    )
    rows = connection.execute(
        select(site_table).where(*which).order_by(site_table.c.delegated_s.desc()).limit(most)
    )
    return [site_row(row) for row in rows.mappings()]


def asked_count(connection: Connection, most: int) -> int:
    """How many sites clients asked about that are not located yet; at most `most` are counted."""
    some = select(site_table.c.name).where(site_table.c.state == SiteStatus.ASKED).limit(most)
    return int(connection.execute(select(func.count()).select_from(some.subquery())).scalar_one())


def counts(connection: Connection) -> dict[str, int]:
    """Sites by state."""
    rows = connection.execute(
        select(site_table.c.state, func.count()).group_by(site_table.c.state)
    ).all()
    return {state: int(count) for state, count in sorted(tuple(row) for row in rows)}


def counts_by_crawler(connection: Connection) -> dict[str, int]:
    rows = connection.execute(
        select(site_table.c.crawler, func.count())
        .where(site_table.c.state.in_((SiteStatus.DELEGATED, SiteStatus.RELEASING)))
        .group_by(site_table.c.crawler)
    ).all()
    return {crawler: int(count) for crawler, count in rows}


def site_row(row: RowMapping) -> SiteRow:
    return SiteRow(
        row["name"], row["address"], row["ground"], row["crawler"], SiteEpoch(row["epoch"]),
        row["found_s"], row["delegated_s"], SiteStatus(row["state"]), row["note"],
    )  # fmt: skip
