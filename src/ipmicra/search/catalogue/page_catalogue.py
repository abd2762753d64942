"""Integrated records -> one SQLite file beside the index: packages, pages, links between pages.

Invariant: the catalogue is the truth about what the index should hold. A package's row and all that its
records changed are committed together. Of one crawler's visits to a page the highest counts, of two
crawlers' the later one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ipmicra.model.page import Page
from ipmicra.search.catalogue import link_graph
from ipmicra.search.catalogue.link_graph import LinkGraph
from ipmicra.search.catalogue.page_codec import (
    HitFields,
    StoredPage,
    encode_page,
    facts_of,
    page_of,
    text_of,
)
from ipmicra.search.contract import IndexDamaged
from ipmicra.search.keys import text_key
from ipmicra.search.ranking.page_names import PageNames

VERSION = 4
_NAMES_COLUMNS = ", ".join(PageNames._fields)
_UPGRADED = (2, 3)  # formats that are brought up to date at opening
_MAPPED_BYTES = 4 << 30  # of the file, read without copying
_RENEW_ALL = "UPDATE pages SET dirty = 1 WHERE facts IS NOT NULL"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS packages (
    crawler TEXT NOT NULL, sequence INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (crawler, sequence, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, url TEXT NOT NULL, crawler TEXT NOT NULL,
    visit INTEGER NOT NULL, fetched_at_ms INTEGER NOT NULL, dirty INTEGER NOT NULL DEFAULT 1,
    facts BLOB, head BLOB, rest BLOB, links BLOB);
CREATE TABLE IF NOT EXISTS wanted (
    url TEXT NOT NULL, crawler TEXT NOT NULL, PRIMARY KEY (url, crawler)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS engine (id INTEGER PRIMARY KEY CHECK (id = 0), opstamp INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS page_names (
    id INTEGER PRIMARY KEY, stemmer TEXT NOT NULL, words INTEGER NOT NULL, link_share REAL NOT NULL,
    is_root INTEGER NOT NULL, lines TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS dirty_pages ON pages (id) WHERE dirty;
{link_graph.SCHEMA}
"""


class CatalogueEntry(NamedTuple):
    """A page in the catalogue. `page` is None once it is gone."""

    identity: int
    url: str
    crawler: str
    fetched_at_ms: int
    page: Page | None


class StoredHit(NamedTuple):
    """The fields that a hit shows; `head` is the beginning of the text."""

    identity: int
    url: str
    crawler: str
    fetched_at_ms: int
    facts: HitFields
    head: str


class PageCatalogue:
    def __init__(self, path: Path) -> None:
        try:
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._prepare(path)
        except sqlite3.Error as error:
            raise IndexDamaged(f"opening the catalogue of the index {path}: {error}") from error
        self.links = LinkGraph(self._database)

    def _prepare(self, path: Path) -> None:
        execute = self._database.execute
        tables, version = (
            execute("SELECT count(*) FROM sqlite_schema").fetchone()[0],
            execute("PRAGMA user_version").fetchone()[0],
        )
        if tables and version != VERSION and version not in _UPGRADED:
            self._database.close()
            raise IndexDamaged(
                f"opening the catalogue of the index {path}: it has format {version}, this program writes "
                f"{VERSION}"
            )
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # its package counts as integrated right after the commit
        execute("PRAGMA busy_timeout = 10000")
        execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        if version != VERSION:  # the engine's documents and the names are made anew at the next commit
            self._database.executescript(
                f"BEGIN IMMEDIATE; DROP TABLE IF EXISTS names; {_SCHEMA}; {_RENEW_ALL};"  # names: of format 3
                f" PRAGMA user_version = {VERSION}; COMMIT"
            )
        else:
            self._database.executescript(_SCHEMA)

    def begin(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._database.execute("COMMIT")

    def rollback(self) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def changes(self) -> tuple[int, int]:
        """Two numbers that change with every commit, by another process or by this one."""
        version = self._database.execute("PRAGMA data_version").fetchone()[0]
        return version, self._database.total_changes

    def holds(self, crawler: str, sequence: int, digest: str) -> bool:
        question = "SELECT 1 FROM packages WHERE crawler = ? AND sequence = ? AND digest = ?"
        return self._database.execute(question, (crawler, sequence, digest)).fetchone() is not None

    def remember_package(self, crawler: str, sequence: int, digest: str) -> None:
        self._database.execute(
            "INSERT OR IGNORE INTO packages VALUES (?, ?, ?)", (crawler, sequence, digest)
        )

    def put(self, url: str, crawler: str, visit: int, fetched_at_ms: int, page: Page | None) -> bool:
        """Note what a visit found, unless a later one is known. True where that changed something.

        A crawler that took a page over without its history counts visits anew, and so does one that lost
        its frontier: then the clock decides.
        """
        content = (None,) * 4 if page is None else encode_page(page)
        changed = self._database.execute(
            "INSERT INTO pages (key, url, crawler, visit, fetched_at_ms, facts, head, rest, links)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET crawler = excluded.crawler, visit = excluded.visit,"
            " fetched_at_ms = excluded.fetched_at_ms, facts = excluded.facts, head = excluded.head,"
            " rest = excluded.rest, links = excluded.links, dirty = 1"
            " WHERE CASE WHEN excluded.crawler = pages.crawler AND excluded.visit > 1"
            " THEN excluded.visit > pages.visit"
            " ELSE excluded.fetched_at_ms > pages.fetched_at_ms END",
            (text_key(url), url, crawler, visit, fetched_at_ms, *content),
        )
        if not changed.rowcount:
            return False
        self._database.execute("DELETE FROM wanted WHERE url = ?", (url,))
        self._database.executemany(
            "UPDATE pages SET dirty = 1 WHERE key = ? AND NOT dirty AND facts IS NOT NULL",
            [(target,) for target in self.links.replace(url, page)],
        )
        return True

    def purge(self, crawler: str) -> int:
        """Remove all pages whose latest version came from this crawler; any later visit counts as newer.

        Returns the number of pages. Its packages stay known, so none is integrated again.
        """
        brought = self._database.execute(
            "SELECT url FROM pages WHERE crawler = ? AND facts IS NOT NULL", (crawler,)
        ).fetchall()
        for (url,) in brought:
            touched = [(text_key(url),), *((target,) for target in self.links.replace(url, None))]
            self._database.executemany("UPDATE pages SET dirty = 1 WHERE key = ?", touched)
        self._database.execute(
            "UPDATE pages SET crawler = '', visit = 0, fetched_at_ms = 0,"
            " facts = NULL, head = NULL, rest = NULL, links = NULL WHERE crawler = ?",
            (crawler,),
        )
        self._database.execute("DELETE FROM wanted WHERE crawler = ?", (crawler,))
        return len(brought)

    def page(self, url: str) -> Page | None:
        """The page as it is known; None where it is gone or unknown."""
        row = self._database.execute(
            "SELECT facts, head, rest, links FROM pages WHERE key = ?", (text_key(url),)
        ).fetchone()
        return None if row is None else _page(list(row))

    def entry(self, url: str) -> CatalogueEntry | None:
        """The page with its last visit and crawler; None if it is gone or unknown."""
        row = self._database.execute(
            "SELECT id, url, crawler, fetched_at_ms, facts, head, rest, links FROM pages WHERE key = ?",
            (text_key(url),),
        ).fetchone()
        if row is None:
            return None
        identity, address, crawler, fetched_at_ms, *content = row
        found = _page(content)
        return (
            None if found is None else CatalogueEntry(identity, address, crawler, fetched_at_ms, found)
        )

    def is_outdated(self, url: str, crawler: str, visit: int, fetched_at_ms: int) -> bool:
        """Whether a visit as new as this one, or newer, is known."""
        row = self._database.execute(
            "SELECT 1 FROM pages WHERE key = ? AND CASE WHEN crawler = ?"
            " THEN visit >= ? ELSE fetched_at_ms >= ? END",
            (text_key(url), crawler, visit, fetched_at_ms),
        ).fetchone()
        return row is not None

    def want(self, crawler: str, url: str) -> None:
        """Ask the crawler for a page as a whole."""
        self._database.execute("INSERT OR IGNORE INTO wanted VALUES (?, ?)", (url, crawler))

    def wanted(self, crawler: str) -> list[str]:
        rows = self._database.execute(
            "SELECT url FROM wanted WHERE crawler = ? ORDER BY url", (crawler,)
        )
        return [url for (url,) in rows]

    def dirty(self) -> Iterable[CatalogueEntry]:
        """Pages whose entry in the index is not up to date."""
        rows = self._database.execute(
            "SELECT id, url, crawler, fetched_at_ms, facts, head, rest, links FROM pages"
            " WHERE dirty ORDER BY id"
        )
        return (
            CatalogueEntry(identity, url, crawler, fetched_at_ms, _page(content))
            for identity, url, crawler, fetched_at_ms, *content in rows
        )

    def renew_all(self) -> None:
        """Let the next commit put every page into the engine again."""
        self._database.execute(_RENEW_ALL)

    def has_dirty(self) -> bool:
        return self._database.execute("SELECT 1 FROM pages WHERE dirty LIMIT 1").fetchone() is not None

    def note_engine(self, opstamp: int) -> None:
        """The engine has committed up to here all that is not dirty."""
        self._database.execute("INSERT OR REPLACE INTO engine VALUES (0, ?)", (opstamp,))

    def engine_opstamp(self) -> int:
        """As it was noted last; 0 where that never was."""
        row = self._database.execute("SELECT opstamp FROM engine").fetchone()
        return 0 if row is None else int(row[0])

    def put_names(self, names: Iterable[tuple[int, PageNames]]) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO page_names VALUES (?, ?, ?, ?, ?, ?)",
            [(identity, *one) for identity, one in names],
        )

    def lacks_names(self) -> bool:
        """There are pages, and what they are called was never worked out: an upgrade."""
        has_names = self._database.execute("SELECT 1 FROM page_names LIMIT 1").fetchone() is not None
        return not has_names and self.page_count() > 0

    def names(self, identities: Sequence[int]) -> dict[int, PageNames]:
        """The names of each page."""
        marks = ",".join("?" * len(identities))
        rows = self._database.execute(
            f"SELECT id, {_NAMES_COLUMNS} FROM page_names WHERE id IN ({marks})",  # noqa: S608 - constants and question marks
            identities,
        )
        return {identity: PageNames(*names) for identity, *names in rows}

    def clean(self, identities: Sequence[int]) -> None:
        rows = [(identity,) for identity in identities]
        self._database.executemany("UPDATE pages SET dirty = 0 WHERE id = ?", rows)

    def shown(self, identities: Sequence[int]) -> dict[int, StoredHit]:
        """Those of the pages that are there."""
        marks = ",".join("?" * len(identities))
        rows = self._database.execute(
            f"SELECT id, url, crawler, fetched_at_ms, facts, head FROM pages WHERE id IN ({marks})",  # noqa: S608 - question marks only
            identities,
        ).fetchall()
        return {
            identity: StoredHit(identity, url, crawler, fetched_at_ms, facts_of(facts), text_of(head))
            for identity, url, crawler, fetched_at_ms, facts, head in rows
            if facts is not None
        }

    def rest(self, identity: int) -> str:
        """The text of a page behind its head."""
        row = self._database.execute("SELECT rest FROM pages WHERE id = ?", (identity,)).fetchone()
        return text_of(row[0]) if row else ""

    def page_count(self) -> int:
        row = self._database.execute("SELECT count(*) FROM pages WHERE facts IS NOT NULL").fetchone()
        return int(row[0])

    def package_count(self) -> int:
        row = self._database.execute("SELECT count(*) FROM packages").fetchone()
        return int(row[0])

    def close(self) -> None:
        self._database.close()


def _page(columns: list[bytes]) -> Page | None:
    return None if not columns[0] else page_of(StoredPage(*columns))
