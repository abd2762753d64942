"""The frontier's tables, and how SQLite is asked to keep them.

Keys are 64-bit hashes that begin with the site's: dedupe is one look-up in `known`, which holds nothing
else, so that ten million URLs are some hundred megabytes of which the open sites' part stays cached.
`queue` holds what is PENDING or LEASED, in the order of each site's times, with all that fetching needs:
leasing reads neighbours, never the whole file. A row is leased while `lease` is the running epoch: a
crash leaves only older epochs, so every lease of a dead process is pending again without a write. A
known key without a queue row is DONE, and has a row in `visits`, or was forwarded to another process of
the crawl. `revisits` waits until a page is due, in order of time over all sites.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ipmicra.carrier.durable import make_folder
from ipmicra.crawler.frontier import poison
from ipmicra.errors import HostFault

VERSION = 2

TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE sites (
    id INTEGER PRIMARY KEY,
    site TEXT NOT NULL UNIQUE,
    ready_ms INTEGER,               -- when something may be fetched; NULL: nothing queued, or lane open
    pending INTEGER NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0,
    next_at REAL NOT NULL DEFAULT 0,
    blocked_until REAL NOT NULL DEFAULT 0,
    block_seconds REAL NOT NULL DEFAULT 0
);
CREATE INDEX sites_by_ready ON sites (ready_ms) WHERE ready_ms IS NOT NULL;
CREATE TABLE robots (id INTEGER PRIMARY KEY, until REAL NOT NULL, status INTEGER, body BLOB NOT NULL);
CREATE TABLE addresses (
    address TEXT PRIMARY KEY, next_at REAL, blocked_until REAL, block_seconds REAL
) WITHOUT ROWID;
CREATE TABLE known (key INTEGER PRIMARY KEY);
CREATE TABLE queue (
    site_id INTEGER NOT NULL, due_ms INTEGER NOT NULL, key INTEGER NOT NULL,
    lease INTEGER NOT NULL, visited INTEGER NOT NULL, hops INTEGER NOT NULL, tries INTEGER NOT NULL,
    depth INTEGER NOT NULL, hint_seconds INTEGER NOT NULL, path TEXT NOT NULL,
    PRIMARY KEY (site_id, due_ms, key)
) WITHOUT ROWID;
CREATE TABLE visits (
    key INTEGER PRIMARY KEY, site_id INTEGER NOT NULL, depth INTEGER NOT NULL,
    hint_seconds INTEGER NOT NULL, path TEXT NOT NULL, visit INTEGER NOT NULL, status INTEGER NOT NULL,
    fetched_ms INTEGER NOT NULL, revisit_ms INTEGER, page_bytes INTEGER NOT NULL, etag TEXT,
    last_modified TEXT, content_hash BLOB NOT NULL, seen REAL NOT NULL, changes REAL NOT NULL,
    watched_seconds REAL NOT NULL
);
CREATE TABLE revisits (
    due_ms INTEGER NOT NULL, key INTEGER NOT NULL, site_id INTEGER NOT NULL, PRIMARY KEY (due_ms, key)
) WITHOUT ROWID;
CREATE TABLE revisit_bytes (day INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);
CREATE TABLE queries (key INTEGER PRIMARY KEY, known INTEGER NOT NULL);
CREATE TABLE measured (
    site TEXT NOT NULL, address TEXT NOT NULL, fetches INTEGER NOT NULL, round_trip_us INTEGER,
    first_byte_ms REAL NOT NULL, download_ms REAL NOT NULL, bytes INTEGER NOT NULL,
    unchanged INTEGER NOT NULL, PRIMARY KEY (site, address)
) WITHOUT ROWID;
"""

BASE_DIGEST_TABLE = """
CREATE TABLE IF NOT EXISTS sketches (  -- of pages as they were last sent, to tell what changed
    key INTEGER PRIMARY KEY, content_hash BLOB NOT NULL, sketch BLOB NOT NULL
)
"""


def connect(path: Path, cache_bytes: int) -> sqlite3.Connection:
    """Open or create the database, for one process alone.

    WAL, and synchronous by the transaction: outcomes are synced before they count (FULL), since packages
    are sealed after them; they come a few times per second, so that costs little. Leases and site workers
    are not synced (NORMAL): a power cut may undo them, which only makes URLs pending again.
    """
    try:
        make_folder(path.parent)
        database = sqlite3.connect(path, isolation_level=None, timeout=0, cached_statements=256)
    except (OSError, sqlite3.OperationalError) as error:
        raise HostFault(f"opening the frontier {path}: {error}") from error
    try:
        _prepare(database, cache_bytes)
    except BaseException as error:
        database.close()
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise HostFault(
                f"opening the frontier {path}: another process crawls with it; wait for it or stop it"
            ) from error
        if isinstance(error, sqlite3.DatabaseError):
            raise HostFault(f"opening the frontier {path}: {error}; it may be damaged") from error
        raise
    return database


def _prepare(database: sqlite3.Connection, cache_bytes: int) -> None:
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("PRAGMA page_size = 4096")
    database.execute("PRAGMA wal_autocheckpoint = 4000")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(f"PRAGMA cache_size = {-cache_bytes // 1024}")
    database.execute("PRAGMA temp_store = MEMORY")
    database.execute("BEGIN EXCLUSIVE")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0:
        for statement in TABLES.split(";\n"):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute(BASE_DIGEST_TABLE)
    database.execute(poison.TABLE)
    database.execute("COMMIT")
    if version not in {0, VERSION}:
        raise HostFault(f"the frontier has format {version}; this program reads {VERSION}")
