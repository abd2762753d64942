"""One site's part of a frontier -> chunks of bytes -> the same part of another frontier.

A warm hand-over includes queue, validators, change history, robots.txt, measurements and clocks, so the
new crawler neither requests a page too soon nor fetches known pages again. Invariant: one chunk at a time
in memory, for a site of any size; leased URLs arrive as pending; a chunk with values
that no row of ours has is refused as a whole; importing twice has the effect of
importing once; all chunks are imported in one transaction, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec

from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier import poison
from ipmicra.crawler.frontier.delta_bases import delete_base_digests
from ipmicra.crawler.frontier.entries import FrontierSite
from ipmicra.crawler.frontier.sites import Sites
from ipmicra.crawler.frontier.transaction import FrontierTransaction
from ipmicra.errors import HostFault
from ipmicra.model.ids import FrontierEpoch
from ipmicra.model.urls import Site
from ipmicra.protocol.foreign_bytes import UNREADABLE

ROWS_PER_CHUNK = 2_000
VERSION = 2


class SiteHead(msgspec.Struct, frozen=True, tag="site"):
    """The first chunk."""

    version: int
    state: FrontierSite
    addresses: dict[str, PolitenessClock]
    measured: list[FetchStatistics]
    kills: dict[int, int] = {}  # by key: pages whose processing was ended, and how often


_Integer = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]  # as SQLite holds it
_Path = Annotated[str, msgspec.Meta(pattern="^/", max_length=16_384)]  # never another site's
_Header = Annotated[str, msgspec.Meta(max_length=16_384)]
QueuedColumns: TypeAlias = tuple[_Integer, _Integer, _Integer, _Integer, _Integer, _Integer, _Path]
VisitColumns: TypeAlias = tuple[
    _Integer,  # depth
    _Integer,  # hint_seconds
    _Path,
    _Integer,  # visit
    _Integer,  # status
    _Integer,  # fetched_ms
    _Integer | None,  # revisit_ms
    _Integer,  # page_bytes
    _Header | None,  # etag
    _Header | None,  # last_modified
    bytes,  # content_hash
    float,  # seen
    float,  # changes
    float,  # watched_seconds
]


_Columns: TypeAlias = tuple[_Integer, QueuedColumns | None, VisitColumns | None]


class PageRow(msgspec.Struct, frozen=True, array_like=True):
    """A known URL: its row in `queue` or in `revisits`, and its row in `visits`, without site and key."""

    key: int
    queued: tuple[object, ...] | None
    visit: tuple[object, ...] | None


class _CheckedRow(NamedTuple):
    """The same, with columns that our tables hold."""

    key: int
    queued: QueuedColumns | None
    visit: VisitColumns | None


class PageRows(msgspec.Struct, frozen=True, tag="pages"):
    """Every further chunk."""

    rows: list[PageRow]


Chunk: TypeAlias = SiteHead | PageRows
_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[Chunk] = msgspec.msgpack.Decoder(Chunk)

_QUEUED = (
    "SELECT key, due_ms, visited, hops, tries, depth, hint_seconds, path FROM queue WHERE site_id = ?"
)
_VISITS = (
    "SELECT key, depth, hint_seconds, path, visit, status, fetched_ms, revisit_ms, page_bytes, etag,"
    " last_modified, content_hash, seen, changes, watched_seconds FROM visits WHERE site_id = ?"
)
_REVISIT_MS = 6  # its place in a row of _VISITS, after the key


def export_site(tx: FrontierTransaction, sites: Sites, site: Site) -> Iterator[bytes]:
    """The site's part, chunk by chunk; nothing when the site is not known."""
    state = sites.state_of(site)
    if state is None:
        return
    measured = list(sites.measured(site))
    addresses = {seen.address: sites.address_clock(seen.address) for seen in measured}
    yield _encode(SiteHead(VERSION, state, addresses, measured, poison.of_site(tx, state.id)))
    for query, is_queued in ((_QUEUED, True), (_VISITS, False)):
        rows = tx.database.execute(query, (state.id,))
        while chunk := rows.fetchmany(ROWS_PER_CHUNK):
            yield _encode(PageRows([_page_row(row, is_queued) for row in chunk]))


def site_in(chunks: Iterable[bytes]) -> Site:
    """The site that a state is about. Raises HostFault if the state's head is not one."""
    head = decode_chunk(next(iter(chunks), b""))
    if not isinstance(head, SiteHead):
        raise HostFault("importing a site: its pages came before its head")
    return head.state.site


def import_site(
    tx: FrontierTransaction, sites: Sites, chunks: Iterable[bytes], epoch: FrontierEpoch
) -> Site:
    """Take over what `export_site` gave. The caller holds the transaction."""
    site_id: int | None = None
    site: Site | None = None
    for chunk in map(decode_chunk, chunks):
        if isinstance(chunk, SiteHead):
            site = chunk.state.site
            site_id = _import_head(sites, chunk)
            poison.import_kills(tx, site_id, chunk.kills)
        elif site_id is None:
            raise HostFault("importing a site: its pages came before its head")
        else:
            _import_pages(tx, sites, site_id, _checked(chunk.rows))
    if site is None or site_id is None:
        raise HostFault("importing a site: there is nothing to import")
    sites.wake([site_id], epoch)
    return site


def _checked(rows: list[PageRow]) -> list[_CheckedRow]:
    """Raises HostFault for a value that no row of ours has."""
    try:
        return [
            _CheckedRow(*msgspec.convert((row.key, row.queued, row.visit), _Columns)) for row in rows
        ]
    except msgspec.ValidationError as error:
        raise HostFault(f"importing a site: {error}") from error


def decode_chunk(data: bytes) -> Chunk:
    """Foreign bytes: another host wrote them. Raises HostFault."""
    try:
        return _decoder.decode(data)
    except UNREADABLE as error:
        raise HostFault(f"importing a site: {error}") from error


def forget_site(tx: FrontierTransaction, sites: Sites, site: Site) -> None:
    """Delete the site's part; the caller holds the transaction, and has exported it before."""
    state, database = sites.state_of(site), tx.database
    if state is None:
        return
    (pending,) = database.execute("SELECT pending FROM sites WHERE id = ?", (state.id,)).fetchone()
    keys = "SELECT key FROM queue WHERE site_id = ?1 UNION SELECT key FROM visits WHERE site_id = ?1"
    known = database.execute(f"DELETE FROM known WHERE key IN ({keys})", (state.id,)).rowcount  # noqa: S608 - our names
    delete_base_digests(tx, "SELECT key FROM visits WHERE site_id = ?", (state.id,))
    for table in ("queue", "visits", "revisits", "poison"):
        database.execute(f"DELETE FROM {table} WHERE site_id = ?", (state.id,))  # noqa: S608 - our names
    database.execute("DELETE FROM robots WHERE id = ?", (state.id,))
    database.execute("DELETE FROM sites WHERE id = ?", (state.id,))
    database.execute("DELETE FROM measured WHERE site = ?", (site,))
    sites.forget_ids()
    tx.add_to_counter("known", -known)
    tx.add_to_counter("pending", -pending)
    tx.add_to_counter("sites", -1)


def _page_row(row: tuple[Any, ...], is_queued: bool) -> PageRow:
    return PageRow(row[0], row[1:], None) if is_queued else PageRow(row[0], None, row[1:])


def _import_head(sites: Sites, head: SiteHead) -> int:
    if head.version != VERSION:
        raise HostFault(f"importing a site: format {head.version}; this program reads {VERSION}")
    state = msgspec.structs.replace(head.state, id=sites.id_of(head.state.site))
    sites.save([state])
    sites.save_robots([state])
    sites.add_measured(head.measured)
    for address, clock in head.addresses.items():
        ours = sites.address_clock(address)
        later = clock if clock.ready_at() > ours.ready_at() else ours
        sites.save_address_clocks({address: later})
    return state.id


def _import_pages(tx: FrontierTransaction, sites: Sites, site_id: int, rows: list[_CheckedRow]) -> None:
    """A URL may come twice, queued and visited; what is already here stays."""
    database, known, pending = tx.database, 0, 0
    for row in rows:
        known += database.execute("INSERT OR IGNORE INTO known VALUES (?)", (row.key,)).rowcount
        if row.queued is not None:
            due_ms, *rest = row.queued
            queued = (site_id, due_ms, row.key, 0, *rest)
            pending += database.execute(_insert("queue", queued), queued).rowcount
        if row.visit is not None:
            visit = (row.key, site_id, *row.visit)
            is_new = database.execute(_insert("visits", visit), visit).rowcount
            if is_new and row.visit[_REVISIT_MS] is not None:
                waiting = (row.visit[_REVISIT_MS], row.key, site_id)
                database.execute(_insert("revisits", waiting), waiting)
    tx.add_to_counter("known", known)
    sites.add_pending({site_id: pending})


def _insert(table: str, values: tuple[object, ...]) -> str:
    return f"INSERT OR IGNORE INTO {table} VALUES ({', '.join('?' * len(values))})"  # noqa: S608 - our names - our tables
