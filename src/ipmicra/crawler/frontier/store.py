"""Discoveries and outcomes in, leases out: the frontier's transactions on SQLite.

Invariant: a URL is PENDING, LEASED or DONE, and changes only inside a transaction that also holds the
data behind the change: outcomes commit together with the links that their pages held, the clocks that
they moved, and the spool's position. A process that dies leaves its leases PENDING. Nothing here keeps a
list of all URLs or sites in memory.

SQLite by the standard library and not through SQLAlchemy: the frontier belongs to one crawler and moves
with it, and at a thousand pages per second each layer between here and C costs time.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ipmicra.carrier.spool import SpoolPosition
from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.decisions.revisit import ChangeHistory, WatchedPage, changes_per_second
from ipmicra.crawler.decisions.scope import SiteBudget
from ipmicra.crawler.decisions.traps import DEFAULT_RULES, TrapRules
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier import delta_bases, foreign_urls, poison, transfer
from ipmicra.crawler.frontier.entries import (
    Batch,
    Counts,
    DiscoveredUrl,
    FrontierSite,
    LeasedUrl,
    RetryLater,
    VisitOutcome,
)
from ipmicra.crawler.frontier.foreign_urls import ForeignUrls
from ipmicra.crawler.frontier.intake import UrlIntake
from ipmicra.crawler.frontier.schema import connect
from ipmicra.crawler.frontier.sites import Sites
from ipmicra.crawler.frontier.transaction import FrontierTransaction
from ipmicra.crawler.parsing.in_progress import InProgress
from ipmicra.errors import HostFault
from ipmicra.model.ids import FrontierEpoch
from ipmicra.model.urls import Site, Url, key_of, path_of, site_of, url_at

DAY_MS = 86_400_000
WITHOUT_LIMIT = SiteBudget(pages=1 << 62, bytes=1 << 62, depth=1 << 30)
CACHE_BYTES = 16 << 20  # SQLite's own page cache
IN_PROGRESS_SUFFIX = ".in-progress"  # of the file beside the frontier that names the page in work
BASE_DIGEST_BYTES_MAX = 256 << 20  # some 300,000 pages


# what decoding and inserting foreign rows raises: wrong types, too few columns, numbers beyond 64 bits
_NOT_A_STATE = (msgspec.MsgspecError, sqlite3.Error, OverflowError, TypeError, ValueError, IndexError)


class Frontier:
    """One crawler's frontier in one file. One process at a time; close it."""

    def __init__(
        self,
        path: Path,
        budget: SiteBudget = WITHOUT_LIMIT,
        rules: TrapRules = DEFAULT_RULES,
        cache_bytes: int = CACHE_BYTES,
        sketch_bytes_max: int = BASE_DIGEST_BYTES_MAX,
    ) -> None:
        self._database = connect(path, cache_bytes)
        self.in_progress = InProgress(path.with_suffix(IN_PROGRESS_SUFFIX))
        self._tx = FrontierTransaction(self._database)
        self._sites = Sites(self._tx)
        self._discovering = UrlIntake(self._tx, self._sites, rules)
        self._budget, self._sketch_bytes_max = budget, sketch_bytes_max
        with self._transaction():
            self._epoch = FrontierEpoch(int(self._tx.fact("epoch") or 0) + 1)
            self._tx.set_fact("epoch", self._epoch)
            self._sites.wake_all_closed(self._epoch)

    def close(self) -> None:
        with suppress(
            sqlite3.DatabaseError
        ):  # a full disk: the log stays, and is read at the next start
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.in_progress.close()
        self._database.close()

    def repair_future_timestamps(self, now_ms: int) -> None:
        """Reset due times that lie implausibly far ahead (the system clock was wrong)."""
        with self._transaction():
            self._sites.repair_future_timestamps(now_ms, self._epoch)

    def release_memory(self) -> None:
        """Free SQLite's cache; it fills again as needed."""
        self._database.execute("PRAGMA shrink_memory")

    # --- what to fetch ----------------------------------------------------------------------------

    def sites_to_open(self, now_ms: int, limit: int) -> list[FrontierSite]:
        """Sites with something to fetch now, longest ready first; they are the caller's until closed."""
        sites = self._sites.ready(now_ms, limit, self._budget)
        if sites:
            with self._transaction():
                self._sites.open(sites)
        return sites

    def next_ready_ms(self) -> int | None:
        """When the next site may be opened; None when no closed site has anything queued."""
        return self._sites.next_ready_ms(self._budget)

    def lease(self, site: FrontierSite, now_ms: int, limit: int) -> list[LeasedUrl]:
        """Up to `limit` due URLs of the site, longest due first: PENDING -> LEASED."""
        rows = self._database.execute(
            _LEASED.format("due_ms <= ? AND lease <> ? ORDER BY due_ms, key LIMIT ?"),
            (site.id, now_ms, self._epoch, limit),
        ).fetchall()
        if rows:
            with self._transaction():
                self._database.executemany(
                    "UPDATE queue SET lease = ? WHERE site_id = ? AND due_ms = ? AND key = ?",
                    [(self._epoch, row[1], row[4], row[0]) for row in rows],
                )
        return [_leased(site.site, row) for row in rows]

    def promote_revisits(self, now_ms: int, limit: int, open_sites: Iterable[int] = ()) -> int:
        """Queue up to `limit` pages whose revisit is due: DONE -> PENDING."""
        rows = self._database.execute(
            "SELECT v.site_id, r.due_ms, r.key, v.depth, v.hint_seconds, v.path"
            " FROM (SELECT due_ms, key FROM revisits WHERE due_ms <= ? ORDER BY due_ms LIMIT ?) r"
            " JOIN visits v ON v.key = r.key",
            (now_ms, limit),
        ).fetchall()
        if rows:
            with self._transaction():
                self._database.executemany(
                    "INSERT INTO queue VALUES (?, ?, ?, 0, 1, 0, 0, ?, ?, ?)", rows
                )
                self._database.executemany(
                    "DELETE FROM revisits WHERE due_ms = ? AND key = ?", [row[1:3] for row in rows]
                )
                self._database.executemany(
                    "UPDATE visits SET revisit_ms = NULL WHERE key = ?", [row[2:3] for row in rows]
                )
                counts = Counter(row[0] for row in rows)
                self._sites.add_pending(counts)
                self._sites.wake(set(counts) - set(open_sites), self._epoch)
        return len(rows)

    def retry_failed(self, urls: Iterable[Url], now_ms: int) -> int:
        """Queue those whose last visit brought no page: DONE -> PENDING. How many they were."""
        rows = [
            row
            for url in urls
            for row in self._database.execute(
                "SELECT site_id, revisit_ms, key, depth, hint_seconds, path FROM visits WHERE key = ?"  # noqa: S608 - our words
                " AND revisit_ms IS NOT NULL AND content_hash = x'' AND (status = 0 OR status >= 400)"
                f" AND {poison.NOT_POISON}",
                (key_of(url),),
            )
        ]
        with self._transaction():
            for site_id, revisit_ms, key, *rest in rows:
                queued = (site_id, now_ms, key, *rest)
                self._database.execute("INSERT INTO queue VALUES (?, ?, ?, 0, 1, 0, 0, ?, ?, ?)", queued)
                self._database.execute(
                    "DELETE FROM revisits WHERE due_ms = ? AND key = ?", (revisit_ms, key)
                )
                self._database.execute("UPDATE visits SET revisit_ms = NULL WHERE key = ?", (key,))
            counts = Counter(row[0] for row in rows)
            self._sites.add_pending(counts)
            self._sites.wake(counts, self._epoch)
        return len(rows)

    # --- what came of it --------------------------------------------------------------------------

    def add(self, discoveries: Iterable[DiscoveredUrl]) -> int:
        """Seeds: how many of them are new."""
        with self._transaction(durable=True):
            found = self._discovering.add(discoveries)
            self._sites.wake(found, self._epoch)
        return found.total()

    def commit(self, batch: Batch, open_sites: Iterable[int] = ()) -> int:
        """Everything in `batch`, or nothing of it; how many discoveries were new.

        Sites among `open_sites` stay open unless `batch` closes them; the others are woken.
        """
        with self._transaction(durable=True):
            found = self._discovering.add(batch.discoveries)
            finished = self._finish(batch.visited)
            poison.record_outcomes(self._tx, batch.visited)
            delta_bases.store_base_digests(self._tx, batch.visited, self._sketch_bytes_max)
            self._postpone(batch.put_off)
            self._sites.save(batch.sites)
            self._sites.save_address_clocks(batch.addresses)
            self._sites.save_robots(batch.robots)
            self._sites.add_measured(batch.measured)
            self._tx.add_to_counter("pages", batch.pages)
            if batch.position is not None:
                self._tx.set_fact("spool_sequence", batch.position.sequence)
                self._tx.set_fact("spool_bytes", batch.position.journal_bytes)
            still_open = set(open_sites) - batch.closed_sites
            self._sites.wake(({*found, *finished} | batch.closed_sites) - still_open, self._epoch)
        return found.total()

    def _finish(self, visited: Sequence[VisitOutcome]) -> Counter[int]:
        """LEASED -> DONE; how many per site."""
        finished = Counter(done.leased.site_id for done in visited)
        self._database.executemany(
            "DELETE FROM queue WHERE site_id = ? AND due_ms = ? AND key = ?",
            [(done.leased.site_id, done.leased.due_ms, done.leased.key) for done in visited],
        )
        self._database.executemany(
            "INSERT OR REPLACE INTO visits VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [_visit_row(done) for done in visited],
        )
        self._database.executemany(
            "INSERT OR IGNORE INTO revisits (due_ms, key, site_id) VALUES (?, ?, ?)",
            [
                (done.revisit_ms, done.leased.key, done.leased.site_id)
                for done in visited
                if done.revisit_ms is not None
            ],
        )
        self._sites.add_pending({site_id: -count for site_id, count in finished.items()})
        self._tx.add_to_counter("done", len(visited))
        self._add_revisit_bytes(visited)
        return finished

    def _add_revisit_bytes(self, visited: Sequence[VisitOutcome]) -> None:
        for done in visited:
            if done.leased.visit:
                self._database.execute(
                    "INSERT INTO revisit_bytes VALUES (?, ?)"
                    " ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
                    (done.fetched_ms // DAY_MS, done.page_bytes),
                )

    def _postpone(self, put_off: Sequence[RetryLater]) -> None:
        """LEASED -> PENDING."""
        self._database.executemany(
            "UPDATE queue SET due_ms = ?, lease = 0, tries = tries + ?"
            " WHERE site_id = ? AND due_ms = ? AND key = ?",
            [
                (
                    delayed.due_ms,
                    delayed.counts_as_try,
                    delayed.leased.site_id,
                    delayed.leased.due_ms,
                    delayed.leased.key,
                )
                for delayed in put_off
            ],
        )

    def revisit_bytes_today(self, now_ms: int) -> int:
        """The bytes of revisits since midnight UTC."""
        query = "SELECT bytes FROM revisit_bytes WHERE day = ?"
        row = self._database.execute(query, (now_ms // DAY_MS,)).fetchone()
        return 0 if row is None else int(row[0])

    def watched(self, prior_seconds: float) -> list[WatchedPage]:
        """All pages that have been visited, grouped by habit."""
        rows = self._database.execute(
            "SELECT avg(seen), avg(changes), count(*), avg(watched_seconds), avg(page_bytes) FROM visits"
            " WHERE revisit_ms IS NOT NULL GROUP BY round(seen), round(changes)"
        )
        return [
            WatchedPage(
                pages, changes_per_second(ChangeHistory(seen, changes, seconds), prior_seconds), cost
            )
            for seen, changes, pages, seconds, cost in rows
        ]

    def base_digest(self, leased: LeasedUrl) -> bytes:
        """Of the page as it was last sent; empty where none is kept."""
        return delta_bases.base_digest(self._tx, leased.key, leased.content_hash)

    def kills_of(self, leased: LeasedUrl) -> int:
        """How often the processing of the page was ended, in a row."""
        return poison.kills_of(self._tx, leased.key)

    def on_interrupted(self, url: Url, is_certain: bool) -> LeasedUrl | None:
        """An earlier process ended while it worked on the page: the page where that is to blame for it.

        `is_certain` says that the page is; else it is blamed when it happens again.
        """
        site = self.site(site_of(url))
        if site is None:
            return None
        row = self._database.execute(_LEASED.format("key = ?"), (site.id, key_of(url))).fetchone()
        if row is None:
            return None
        with self._transaction(durable=True):
            blamed = poison.add_suspicion(self._tx, key_of(url), site.id) or is_certain
        return _leased(site.site, row) if blamed else None

    def force_full_resend(self, urls: Iterable[Url], now_ms: int) -> int:
        """Make the next visit of these pages, due now, send them in full. Returns the number of known
        pages.
        """
        with self._transaction(durable=True):
            return delta_bases.force_full_resend(self._tx, urls, now_ms)

    # --- hand-over ---------------------------------------------------------------------------------

    def export_site(self, site: Site) -> Iterator[bytes]:
        """All that is known of a site, in chunks for another crawler's `import_site`."""
        return transfer.export_site(self._tx, self._sites, site)

    def import_site(self, chunks: Iterable[bytes]) -> Site:
        """Take a site over, whole or not at all; known URLs stay as they are.

        Raises HostFault where the chunks, which come from another machine, are not what we write.
        """
        try:
            with self._transaction(durable=True):
                return transfer.import_site(self._tx, self._sites, chunks, self._epoch)
        except _NOT_A_STATE as error:
            raise HostFault(f"importing a site: {error!r}") from error

    def forget_site(self, site: Site) -> None:
        """The site is another's now. It must not be open."""
        with self._transaction(durable=True):
            transfer.forget_site(self._tx, self._sites, site)

    def queued_urls(self, site: FrontierSite, limit: int) -> list[ForeignUrls]:
        """Up to `limit` of a closed site's queued URLs, for another process of the crawl."""
        return foreign_urls.queued_urls(self._tx, site, limit)

    def remove(self, site: FrontierSite, rows: list[ForeignUrls]) -> None:
        """The other process has them."""
        with self._transaction(durable=True):
            foreign_urls.remove(self._tx, self._sites, site, rows, self._epoch)

    # --- facts ------------------------------------------------------------------------------------

    def address_clock(self, address: str) -> PolitenessClock:
        """The clock that an address has kept from earlier."""
        return self._sites.address_clock(address)

    def site(self, site: Site) -> FrontierSite | None:
        """The stored state of a site; None if it is not known."""
        return self._sites.state_of(site)

    def spool_position(self) -> SpoolPosition | None:
        """The last position of the spool that was committed; None before the first."""
        sequence = self._tx.fact("spool_sequence")
        if sequence is None:
            return None
        return SpoolPosition(int(sequence), int(self._tx.fact("spool_bytes") or 0))

    def counts(self) -> Counts:
        count = self._tx.counter_value
        return Counts(count("known"), count("pending"), count("done"), count("pages"), count("sites"))

    def measured(self) -> Iterator[FetchStatistics]:
        """The statistics of all fetches so far, by site and address."""
        return self._sites.measured()

    def fact(self, name: str) -> str | None:
        """A text that the caller has kept here."""
        value = self._tx.fact(f"caller.{name}")
        return None if value is None else str(value)

    def set_fact(self, name: str, value: str) -> None:
        with self._tx.transaction(durable=True):
            self._tx.set_fact(f"caller.{name}", value)

    @contextmanager
    def _transaction(self, durable: bool = False) -> Iterator[None]:
        try:
            with self._tx.transaction(durable):
                yield
        except BaseException:
            self._sites.forget_ids()
            raise


_LEASED = (
    "SELECT q.key, q.site_id, q.path, q.depth, q.due_ms, q.hops, q.tries, q.hint_seconds,"
    " v.visit, v.fetched_ms, v.etag, v.last_modified, v.content_hash, v.seen, v.changes,"
    " v.watched_seconds FROM (SELECT * FROM queue WHERE site_id = ? AND {}) q"
    " LEFT JOIN visits v ON v.key = CASE WHEN q.visited THEN q.key END"
)


def _leased(site: Site, row: tuple[object, ...]) -> LeasedUrl:
    key, site_id, path, depth, due_ms, hops, tries, hint, visit, *known = row
    url = url_at(site, path)  # type: ignore[arg-type]  # a row
    head = (key, site_id, url, depth, due_ms, hops, tries, hint)
    if visit is None:
        return LeasedUrl(*head)  # type: ignore[arg-type]  # a row
    fetched_ms, etag, last_modified, content_hash, seen, changes, watched_seconds = known
    history = ChangeHistory(seen, changes, watched_seconds)  # type: ignore[arg-type]  # a row
    return LeasedUrl(*head, visit, fetched_ms, etag, last_modified, content_hash, history)  # type: ignore[arg-type]  # a row


def _visit_row(done: VisitOutcome) -> tuple[object, ...]:
    leased, history = done.leased, done.history
    return (
        *(leased.key, leased.site_id, leased.depth, leased.hint_seconds, path_of(leased.url)),
        *(leased.visit + 1, done.status, done.fetched_ms, done.revisit_ms, done.page_bytes, done.etag),
        *(done.last_modified, done.content_hash),
        *(history.visits, history.changes, history.watched_seconds),
    )
