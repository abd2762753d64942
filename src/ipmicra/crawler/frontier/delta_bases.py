"""base digests of pages as they were last sent -> kept with the frontier, within a budget of bytes.

Invariant: a base digest is only good for the page whose content hash stands beside it. Where the budget
is used up nothing new is kept; a page without a base digest is sent in full, which loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ipmicra.crawler.frontier.entries import VisitOutcome
from ipmicra.crawler.frontier.poison import kills_of
from ipmicra.crawler.frontier.transaction import FrontierTransaction
from ipmicra.model.urls import Url, key_of


def store_base_digests(tx: FrontierTransaction, visited: Sequence[VisitOutcome], bytes_max: int) -> None:
    """Store the base digests of visited pages. The caller holds the transaction."""
    sent = [done for done in visited if done.base_digest]
    if not sent:
        return
    keys = ",".join(str(int(done.leased.key)) for done in sent)
    delete_base_digests(tx, keys)
    room = bytes_max - tx.counter_value("sketch_bytes")
    kept = []
    for done in sent:
        room -= len(done.base_digest)
        if room < 0:
            break
        kept.append((done.leased.key, done.content_hash, done.base_digest))
    tx.database.executemany("INSERT INTO sketches VALUES (?, ?, ?)", kept)
    tx.add_to_counter("sketch_bytes", sum(len(digest) for _, _, digest in kept))


def delete_base_digests(tx: FrontierTransaction, keys: str, values: tuple[int, ...] = ()) -> None:
    """Delete the base digests of the keys in a list or a query."""
    (size,) = tx.database.execute(
        f"SELECT coalesce(sum(length(sketch)), 0) FROM sketches WHERE key IN ({keys})",  # noqa: S608 - numbers
        values,
    ).fetchone()
    if size:
        tx.database.execute(f"DELETE FROM sketches WHERE key IN ({keys})", values)  # noqa: S608 - numbers
        tx.add_to_counter("sketch_bytes", -size)


def base_digest(tx: FrontierTransaction, key: int, content_hash: bytes) -> bytes:
    """The base digest of the page with that content; empty where none is kept."""
    row = tx.database.execute(
        "SELECT sketch FROM sketches WHERE key = ? AND content_hash = ?", (key, content_hash)
    ).fetchone()
    return row[0] if row else b""


def force_full_resend(tx: FrontierTransaction, urls: Iterable[Url], now_ms: int) -> int:
    """Forget what the pages held, and make their next visit due. How many of them are known."""
    keys = [key_of(url) for url in urls]
    rows = [(key, now_ms) for key in keys if not kills_of(tx, key)]
    tx.database.executemany(
        "DELETE FROM revisits WHERE (due_ms, key) IN"
        " (SELECT revisit_ms, key FROM visits WHERE key = ?1 AND revisit_ms > ?2)",
        rows,
    )
    tx.database.executemany(
        "INSERT OR IGNORE INTO revisits SELECT ?2, key, site_id FROM visits"
        " WHERE key = ?1 AND revisit_ms > ?2",
        rows,
    )
    return tx.database.executemany(
        "UPDATE visits SET content_hash = x'', etag = NULL, last_modified = NULL,"
        " revisit_ms = min(revisit_ms, ?2) WHERE key = ?1",
        rows,
    ).rowcount
