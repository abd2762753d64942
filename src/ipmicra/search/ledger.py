"""What was integrated -> one SQLite file beside the index: packages, pages, links between pages.

Law: the ledger is the truth about what the index should hold. A package's row and all that its records
changed are committed together. Of one crawler's visits to a page the highest counts, of two crawlers' the
later one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from ipmicra.crawler.extraction.page import Page
from ipmicra.errors import HostFault

_SCHEMA = """
CREATE TABLE IF NOT EXISTS packages (
    crawler TEXT NOT NULL, sequence INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (crawler, sequence, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    id INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, url TEXT NOT NULL, crawler TEXT NOT NULL,
    visit INTEGER NOT NULL, fetched_at_ms INTEGER NOT NULL, content BLOB, dirty INTEGER NOT NULL DEFAULT 1);
CREATE INDEX IF NOT EXISTS dirty_pages ON pages (id) WHERE dirty;
CREATE TABLE IF NOT EXISTS links (
    target INTEGER NOT NULL, source INTEGER NOT NULL, site INTEGER NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (target, source)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_by_source ON links (source);
"""
LINKS_OF_A_PAGE_MAX = 500  # that lend their text and authority
ANCHORS_MAX = 30  # different texts of links to one page
_decode = msgspec.msgpack.Decoder(Page).decode
_encode = msgspec.msgpack.Encoder().encode


class Entry(NamedTuple):
    """A page as the ledger knows it. `page` is None once it is gone."""

    identity: int
    url: str
    crawler: str
    visit: int
    fetched_at_ms: int
    page: Page | None


class Ledger:
    def __init__(self, path: Path) -> None:
        try:
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute("PRAGMA busy_timeout = 10000")
            self._database.executescript(_SCHEMA)
        except sqlite3.Error as error:
            raise HostFault(f"opening the ledger of the index {path}: {error}") from error

    def begin(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._database.execute("COMMIT")

    def rollback(self) -> None:
        if self._database.in_transaction:
            self._database.execute("ROLLBACK")

    def holds(self, crawler: str, sequence: int, digest: str) -> bool:
        question = "SELECT 1 FROM packages WHERE crawler = ? AND sequence = ? AND digest = ?"
        return self._database.execute(question, (crawler, sequence, digest)).fetchone() is not None

    def remember_package(self, crawler: str, sequence: int, digest: str) -> None:
        self._database.execute(
            "INSERT OR IGNORE INTO packages VALUES (?, ?, ?)", (crawler, sequence, digest)
        )

    def put(self, url: str, crawler: str, visit: int, fetched_at_ms: int, page: Page | None) -> bool:
        """Note what a visit found, unless a later one is known. True where that changed something.

        A crawler that took a page over without its history counts visits anew: then the clock decides.
        """
        content = None if page is None else _packed(page)
        changed = self._database.execute(
            "INSERT INTO pages (key, url, crawler, visit, fetched_at_ms, content) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET crawler = excluded.crawler, visit = excluded.visit, "
            "fetched_at_ms = excluded.fetched_at_ms, content = excluded.content, dirty = 1 "
            "WHERE CASE WHEN excluded.crawler = pages.crawler THEN excluded.visit > pages.visit "
            "ELSE excluded.fetched_at_ms > pages.fetched_at_ms END",
            (key_of(url), url, crawler, visit, fetched_at_ms, content),
        )
        if not changed.rowcount:
            return False
        self._replace_links(url, page)
        return True

    def _replace_links(self, url: str, page: Page | None) -> None:
        source, site = key_of(url), key_of(_site(url))
        self._mark_targets(source)
        self._database.execute("DELETE FROM links WHERE source = ?", (source,))
        if page is None or page.robots.nofollow:
            return
        rows = [
            (key_of(link.url), source, site, link.text[:120])
            for link in page.links[:LINKS_OF_A_PAGE_MAX]
            if "nofollow" not in link.rel and link.url != url
        ]
        self._database.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", rows)
        self._mark_targets(source)

    def _mark_targets(self, source: int) -> None:
        self._database.execute(
            "UPDATE pages SET dirty = 1 WHERE NOT dirty AND content IS NOT NULL AND key IN "
            "(SELECT target FROM links WHERE source = ?)",
            (source,),
        )

    def dirty(self) -> Iterable[Entry]:
        """Pages whose entry in the index is not up to date."""
        rows = self._database.execute(f"{_SELECT} WHERE dirty ORDER BY id")
        return (_entry(row) for row in rows)

    def clean(self, identities: Sequence[int]) -> None:
        rows = [(identity,) for identity in identities]
        self._database.executemany("UPDATE pages SET dirty = 0 WHERE id = ?", rows)

    def entries(self, identities: Sequence[int]) -> dict[int, Entry]:
        marks = ",".join("?" * len(identities))
        rows = self._database.execute(f"{_SELECT} WHERE id IN ({marks})", identities)
        return {row[0]: _entry(row) for row in rows}

    def anchors(self, url: str) -> list[str]:
        """What links to the page call it, what most of them say first."""
        rows = self._database.execute(
            "SELECT text FROM links WHERE target = ? AND text != '' "
            "GROUP BY text ORDER BY count(*) DESC, text LIMIT ?",
            (key_of(url), ANCHORS_MAX),
        )
        return [text for (text,) in rows]

    def linking(self, url: str) -> tuple[int, int]:
        """How many other sites, and how many pages of its own site, link to the page."""
        row = self._database.execute(
            "SELECT count(DISTINCT nullif(site, :own)), count(*) FILTER (WHERE site = :own) FROM links "
            "WHERE target = :target",
            {"own": key_of(_site(url)), "target": key_of(url)},
        ).fetchone()
        return row[0], row[1]

    def page_count(self) -> int:
        count: int = self._database.execute(
            "SELECT count(*) FROM pages WHERE content IS NOT NULL"
        ).fetchone()[0]
        return count

    def close(self) -> None:
        self._database.close()


_SELECT = "SELECT id, url, crawler, visit, fetched_at_ms, content FROM pages"


def key_of(text: str) -> int:
    """63 bits of a URL or a site's name: small keys make small indexes."""
    return (
        int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        >> 1
    )


def _site(url: str) -> str:
    return url.partition("//")[2].partition("/")[0]


def _packed(page: Page) -> bytes:
    kept = msgspec.structs.replace(page, links=[])
    return zstandard.ZstdCompressor(level=3).compress(_encode(kept))


def _entry(row: tuple[int, str, str, int, int, bytes | None]) -> Entry:
    identity, url, crawler, visit, fetched_at_ms, content = row
    page = None if content is None else _decode(zstandard.ZstdDecompressor().decompress(content))
    return Entry(identity, url, crawler, visit, fetched_at_ms, page)
