"""How fast are answers over HTTP under 8 clients on one core, and how fast and large is the index?

Pages are made up of real lines (see search_parts/corpus.py; IPMICRA_DOCS and IPMICRA_DATA as for
benchmarks/extraction.py). IPMICRA_DOCUMENTS says how many (default 20,000), IPMICRA_INDEX where an index
is kept and used again (else it is made and removed). Clients ask in a closed loop without a pause, every
question once, so nothing answers from memory what it was asked before; with 8 of them on one core a client
waits for eight answers, and 5 ms mean 0.6 ms of CPU for each. Waiting needs a quiet machine; CPU time
a question is given beside it. Beside it, on the same texts, bare tantivy with one field, and SQLite's FTS5:
both find ids only, in one process, and so leave out HTTP, snippets, folding and everything stored.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import tantivy

from benchmarks.search_parts.clients import CLIENTS, cpu_seconds, serving, waits_ms
from benchmarks.search_parts.corpus import Corpus
from ipmicra.carrier.package import Header, Package
from ipmicra.carrier.record import PageSeen
from ipmicra.crawler.extraction.page import Page
from ipmicra.search.contract import Request
from ipmicra.search.tantivy_index import TantivyIndex

QUESTIONS = 2_000
_WARMING = 300
_PACKAGE = 2_000
_COMMIT_PACKAGES = 10
_RIVALS_DOCUMENTS_MAX = 200_000


def main() -> None:
    count = int(os.environ.get("IPMICRA_DOCUMENTS", "20000"))
    corpus = Corpus()
    questions = corpus.questions(2 * QUESTIONS + _WARMING, count)
    folder = Path(tempfile.mkdtemp(prefix="ipmicra-search-"))
    kept = os.environ.get("IPMICRA_INDEX")
    print(f"{count:,} pages, {QUESTIONS} questions of one to three words, none twice")
    print(f"{'':38} {'pages/s':>9} {'size/text':>9} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8}")
    try:
        _ours(corpus, count, questions, Path(kept) if kept else folder / "ours")
        if count <= _RIVALS_DOCUMENTS_MAX:
            _bare_tantivy(corpus, count, questions[:QUESTIONS], folder / "bare")
            _fts5(corpus, count, questions[:200], folder / "fts5.sqlite")
    finally:
        shutil.rmtree(folder)


def _ours(corpus: Corpus, count: int, questions: list[str], folder: Path) -> None:
    if not folder.exists():
        pages_per_s, text_bytes = _filled(corpus, count, folder)
        _row("ipmicra, indexing", pages_per_s, _size(folder) / text_bytes, [], None)
    index = TantivyIndex(folder)
    ask, asked = (lambda text: index.search(Request(text=text))), questions[:QUESTIONS]
    _timed(ask, questions[-_WARMING:])
    times = _timed(ask, asked)
    index.close()
    _row("ipmicra, snippets, folding, in process", None, None, times, statistics.mean(times))
    with serving(folder) as server:
        waits_ms("/api/search", questions[-_WARMING:])
        for name, path, portion in (
            ("JSON", "/api/search", questions[:QUESTIONS]),
            ("page", "/search", questions[QUESTIONS : 2 * QUESTIONS]),
        ):
            before = cpu_seconds(server.pid)
            waits = waits_ms(path, portion)
            cpu_ms = 1000 * (cpu_seconds(server.pid) - before) / len(portion)
            _row(f"the same over HTTP, {CLIENTS} clients, {name}", None, None, waits, cpu_ms)


def _filled(corpus: Corpus, count: int, folder: Path) -> tuple[float, int]:
    index = TantivyIndex(folder, writable=True)
    text_bytes, spent_s = 0, 0.0
    for number, pages in enumerate(_batches(corpus.pages(count), _PACKAGE), 1):
        text_bytes += sum(len(page.text.encode()) for page in pages)
        header = Header(crawler="c", sequence=number, records=len(pages), inflated_bytes=0)
        records = [PageSeen(url=page.url, visit=1, fetched_at_ms=0, page=page) for page in pages]
        start = time.process_time()
        index.integrate(Package(header, list(records)), str(number))
        if number % _COMMIT_PACKAGES == 0:
            index.commit()
        spent_s += time.process_time() - start
    start = time.process_time()
    index.commit()
    index.close()
    return count / (spent_s + time.process_time() - start), text_bytes


def _batches(pages: Iterator[Page], size: int) -> Iterator[list[Page]]:
    while batch := list(islice(pages, size)):
        yield batch


def _bare_tantivy(corpus: Corpus, count: int, questions: list[str], folder: Path) -> None:
    folder.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("text", stored=True).build()
    index = tantivy.Index(schema, path=str(folder))
    writer = index.writer(heap_size=64 * 1024 * 1024, num_threads=1)
    text_bytes, spent_s = 0, 0.0
    for pages in _batches(corpus.pages(count), _PACKAGE):
        text_bytes += sum(len(page.text.encode()) for page in pages)
        start = time.process_time()
        for page in pages:
            writer.add_document(tantivy.Document(text=page.text))
        spent_s += time.process_time() - start
    start = time.process_time()
    writer.commit()
    writer.wait_merging_threads()
    pages_per_s = count / (spent_s + time.process_time() - start)
    index.reload()
    searcher = index.searcher()
    times = _timed(
        lambda question: searcher.search(index.parse_query(question, ["text"]), 10), questions
    )
    _row(
        "tantivy, one field, ids only",
        pages_per_s,
        _size(folder) / text_bytes,
        times,
        statistics.mean(times),
    )


def _fts5(corpus: Corpus, count: int, questions: list[str], path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(text)")
    text_bytes, spent_s = 0, 0.0
    for pages in _batches(corpus.pages(count), _PACKAGE):
        text_bytes += sum(len(page.text.encode()) for page in pages)
        start = time.process_time()
        database.executemany("INSERT INTO pages VALUES (?)", [(page.text,) for page in pages])
        database.commit()
        spent_s += time.process_time() - start
    asked = "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"
    times = _timed(
        lambda question: database.execute(asked, (" ".join(question.split()),)).fetchall(), questions
    )
    database.close()
    _row(
        "SQLite FTS5, ids only", count / spent_s, path.stat().st_size / text_bytes, times,
        statistics.mean(times),
    )  # fmt: skip


def _timed(ask: Callable[[str], object], questions: list[str]) -> list[float]:
    times = []
    for question in questions:
        start = time.process_time()
        ask(question)
        times.append((time.process_time() - start) * 1000)
    return times


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _row(
    name: str, pages_per_s: float | None, share: float | None, times: list[float], cpu_ms: float | None
) -> None:
    cells = [
        "" if pages_per_s is None else f"{pages_per_s:,.0f}",
        "" if share is None else f"{share:.2f}",
        f"{statistics.median(times):.2f}" if times else "",
        f"{statistics.quantiles(times, n=100)[98]:.2f}" if times else "",
        "" if cpu_ms is None else f"{cpu_ms:.2f}",
    ]
    print(f"{name:38} {cells[0]:>9} {cells[1]:>9} {cells[2]:>8} {cells[3]:>8} {cells[4]:>8}", flush=True)
