"""One site's part of a frontier -> chunks of bytes -> the same part of another frontier.

What makes a hand-over warm: queue, validators, change history, robots.txt, measurements and clocks go
along, so the new crawler neither asks for a page too soon nor fetches what is known. Law: a chunk at a
time in memory, whatever the site's size; what was leased arrives pending; importing twice is importing
once; all chunks are imported in one transaction, or none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from ipmicra.crawler.decisions.politeness import Clock
from ipmicra.crawler.decisions.urls import Site
from ipmicra.crawler.frontier.entries import SiteState
from ipmicra.crawler.frontier.ledger import Ledger
from ipmicra.crawler.frontier.sites import Sites
from ipmicra.crawler.measuring import Measured
from ipmicra.errors import OurFault

ROWS_PER_CHUNK = 2_000
VERSION = 1


class SiteHead(msgspec.Struct, frozen=True, tag="site"):
    """The first chunk."""

    version: int
    state: SiteState
    addresses: dict[str, Clock]
    measured: list[Measured]


class PageRow(msgspec.Struct, frozen=True, array_like=True):
    """A known URL: its page, its place in the queue or among the revisits, and its last visit."""

    key: int
    path: str
    depth: int
    hint_seconds: int
    due_ms: int | None
    hops: int | None
    tries: int | None
    visit: tuple[object, ...] | None  # the row of `visits`, without its key


class PageRows(msgspec.Struct, frozen=True, tag="pages"):
    """Every further chunk."""

    rows: list[PageRow]


Chunk: TypeAlias = SiteHead | PageRows
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Chunk).decode

_PAGES = (
    "SELECT p.key, p.path, p.depth, p.hint_seconds, q.due_ms, q.hops, q.tries, v.visit, v.status,"
    " v.fetched_ms, v.revisit_ms, v.page_bytes, v.etag, v.last_modified, v.content_hash, v.seen,"
    " v.changes, v.watched_seconds FROM pages p LEFT JOIN exported q ON q.key = p.key"
    " LEFT JOIN visits v ON v.key = p.key WHERE p.site_id = ? ORDER BY p.key"
)


def export_site(ledger: Ledger, sites: Sites, site: Site) -> Iterator[bytes]:
    """The site's part, chunk by chunk; nothing when the site is not known."""
    state = sites.state_of(site)
    if state is None:
        return
    measured = list(sites.measured(site))
    addresses = {seen.address: sites.address_clock(seen.address) for seen in measured}
    yield _encode(SiteHead(VERSION, state, addresses, measured))
    with _joined_rows(ledger.database, state.id) as rows:
        while chunk := rows.fetchmany(ROWS_PER_CHUNK):
            yield _encode(PageRows([_page_row(row) for row in chunk]))


def import_site(ledger: Ledger, sites: Sites, chunks: Iterable[bytes], epoch: int) -> Site:
    """Take over what `export_site` gave. The caller holds the transaction."""
    site_id: int | None = None
    site: Site | None = None
    for chunk in map(_decode, chunks):
        if isinstance(chunk, SiteHead):
            site = chunk.state.site
            site_id = _import_head(sites, chunk)
        elif site_id is None:
            raise OurFault("importing a site: its pages came before its head")
        else:
            _import_pages(ledger, sites, site_id, chunk.rows)
    if site is None or site_id is None:
        raise OurFault("importing a site: there is nothing to import")
    sites.wake([site_id], epoch)
    return site


def forget_site(ledger: Ledger, sites: Sites, site: Site) -> None:
    """Delete the site's part; the caller holds the transaction, and has exported it before."""
    state, database = sites.state_of(site), ledger.database
    if state is None:
        return
    (pending,) = database.execute("SELECT pending FROM sites WHERE id = ?", (state.id,)).fetchone()
    keys = "(SELECT key FROM pages WHERE site_id = ?)"
    database.execute(f"DELETE FROM visits WHERE key IN {keys}", (state.id,))  # noqa: S608
    for table in ("queue", "revisits"):
        database.execute(f"DELETE FROM {table} WHERE site_id = ?", (state.id,))  # noqa: S608
    known = database.execute("DELETE FROM pages WHERE site_id = ?", (state.id,)).rowcount
    database.execute("DELETE FROM robots WHERE id = ?", (state.id,))
    database.execute("DELETE FROM sites WHERE id = ?", (state.id,))
    database.execute("DELETE FROM measured WHERE site = ?", (site,))
    sites.forget_ids()
    ledger.count("known", -known)
    ledger.count("pending", -pending)
    ledger.count("sites", -1)


@contextmanager
def _joined_rows(database: sqlite3.Connection, site_id: int) -> Iterator[sqlite3.Cursor]:
    """The site's pages with their queue rows, which need an index by key for the moment."""
    database.execute("CREATE TEMP TABLE exported (key INTEGER PRIMARY KEY, due_ms, hops, tries)")
    try:
        database.execute(
            "INSERT INTO exported SELECT key, due_ms, hops, tries FROM queue WHERE site_id = ?",
            (site_id,),
        )
        yield database.execute(_PAGES, (site_id,))
    finally:
        database.execute("DROP TABLE exported")


def _page_row(row: tuple[object, ...]) -> PageRow:
    key, path, depth, hint_seconds, due_ms, hops, tries, *visit = row
    seen = None if visit[0] is None else tuple(visit)
    return PageRow(key, path, depth, hint_seconds, due_ms, hops, tries, seen)  # type: ignore[arg-type]


def _import_head(sites: Sites, head: SiteHead) -> int:
    if head.version != VERSION:
        raise OurFault(f"importing a site: format {head.version}; this program reads {VERSION}")
    state = msgspec.structs.replace(head.state, id=sites.id_of(head.state.site))
    sites.keep([state])
    sites.keep_robots([state])
    sites.add_measured(head.measured)
    for address, clock in head.addresses.items():
        ours = sites.address_clock(address)
        later = clock if clock.ready_at() > ours.ready_at() else ours
        sites.keep_address_clocks({address: later})
    return state.id


def _import_pages(ledger: Ledger, sites: Sites, site_id: int, rows: list[PageRow]) -> None:
    database, known, pending = ledger.database, 0, 0
    for row in rows:
        page = (row.key, site_id, row.depth, row.hint_seconds, row.path)
        if database.execute("INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?, ?)", page).rowcount != 1:
            continue
        known += 1
        if row.visit is not None:
            values = (row.key, *row.visit)
            database.execute(f"INSERT INTO visits VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608
        if row.due_ms is not None:
            queued = (site_id, row.due_ms, row.key, row.hops, row.tries)
            database.execute("INSERT INTO queue VALUES (?, ?, ?, 0, ?, ?)", queued)
            pending += 1
        elif row.visit is not None and row.visit[3] is not None:
            database.execute("INSERT INTO revisits VALUES (?, ?, ?)", (row.visit[3], row.key, site_id))
    ledger.count("known", known)
    sites.add_pending({site_id: pending})
