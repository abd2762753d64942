"""Pages -> engines as their documentation shows them: tantivy with one field, SQLite FTS5, several fields."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import tantivy
from tantivy import Occur, Query

from ipmicra.crawler.extraction import Page

Search = Callable[[str], list[str]]
_WORDS = re.compile(r"\w+")
_TEN = 10


def peers(pages: list[Page], folder: Path) -> dict[str, Search]:
    return {
        "tantivy, one field, any of the words": _tantivy(pages, folder / "one", ("whole",)),
        "tantivy, best of title, headings, text": _tantivy(
            pages, folder / "several", ("title", "headings", "text")
        ),
        "SQLite FTS5, bm25, any of the words": _fts5(pages),
    }


def _tantivy(pages: list[Page], folder: Path, fields: tuple[str, ...]) -> Search:
    """Several fields: the best field of each page counts, as `multi_match` with `best_fields` has it."""
    folder.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw")
    for name in fields:
        builder.add_text_field(name, tokenizer_name="en_stem")
    schema = builder.build()
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(heap_size=64 << 20, num_threads=1)
    for page in pages:
        headings = "\n".join(page.headings)
        texts = {"title": page.title, "headings": headings, "text": page.text}
        texts["whole"] = f"{page.title}\n{page.text}"
        document = tantivy.Document()
        document.add_text("url", page.url)
        for name in fields:
            document.add_text(name, texts[name])
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        words = " ".join(_WORDS.findall(text))
        best = Query.disjunction_max_query([index.parse_query(words, [name]) for name in fields], 0.0)
        query = Query.boolean_query([(Occur.Must, best)])
        return [str(searcher.doc(place)["url"][0]) for _, place in searcher.search(query, _TEN).hits]

    return search


def _fts5(pages: list[Page]) -> Search:
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, text, tokenize='porter')"
    )
    database.executemany(
        "INSERT INTO pages VALUES (?, ?, ?)", [(page.url, page.title, page.text) for page in pages]
    )

    def search(text: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORDS.findall(text))
        statement = "SELECT url FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 5, 1) LIMIT ?"
        return [url for (url,) in database.execute(statement, (words, _TEN))] if words else []

    return search
