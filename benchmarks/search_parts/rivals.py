"""The same texts -> bare tantivy with one field and SQLite's FTS5, which find ids only.

What is in the folder already is used again; then there is nothing to say about making it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import tantivy

from ipmicra.model.page import Page

_WRITER_BYTES = 64 * 1024 * 1024
Batches = Iterator[list[Page]]


class Made(NamedTuple):
    """The cost of an index: CPU, and bytes of text."""

    spent_s: float
    text_bytes: int


class Rival(NamedTuple):
    name: str
    made: Made | None
    ask: Callable[[str], object]


def bare_tantivy(batches: Batches, folder: Path) -> Rival:
    there = folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    schema = tantivy.SchemaBuilder().add_text_field("text", stored=True).build()
    index = tantivy.Index(schema, path=str(folder))
    made = None if there else _filled_tantivy(index, batches)
    index.reload()
    searcher = index.searcher()
    return Rival(
        "tantivy, one field, ids only",
        made,
        lambda question: searcher.search(index.parse_query_lenient(question, ["text"])[0], 10),
    )


def _filled_tantivy(index: tantivy.Index, batches: Batches) -> Made:
    writer = index.writer(heap_size=_WRITER_BYTES, num_threads=1)
    text_bytes, spent_s = 0, 0.0
    for pages in batches:
        text_bytes += sum(len(page.text.encode()) for page in pages)
        start = time.process_time()
        for page in pages:
            writer.add_document(tantivy.Document(text=page.text))
        spent_s += time.process_time() - start
    start = time.process_time()
    writer.commit()
    writer.wait_merging_threads()
    return Made(spent_s + time.process_time() - start, text_bytes)


def fts5(batches: Batches, path: Path) -> Rival:
    there = path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    made = None if there else _filled_fts5(database, batches)
    asked = "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"
    return Rival(
        "SQLite FTS5, ids only", made, lambda question: database.execute(asked, (question,)).fetchall()
    )


def _filled_fts5(database: sqlite3.Connection, batches: Batches) -> Made:
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(text)")
    text_bytes, spent_s = 0, 0.0
    for pages in batches:
        text_bytes += sum(len(page.text.encode()) for page in pages)
        start = time.process_time()
        database.executemany("INSERT INTO pages VALUES (?)", [(page.text,) for page in pages])
        database.commit()
        spent_s += time.process_time() - start
    return Made(spent_s, text_bytes)
