"""How fast are answers over HTTP under 8 clients on one core, and how fast and large is the index?

Pages are made up of real lines (see search_parts/corpus.py; IPMICRA_DOCS and IPMICRA_DATA as for
benchmarks/extraction.py). IPMICRA_DOCUMENTS says how many (default 20,000), IPMICRA_INDEX where pages and
indexes are kept and used again (else they are made and removed; what was there already has no indexing
figures). In a closed loop clients ask without a pause, every question once. Nothing answers from memory what
it was asked before: no question is drawn twice, the server is new, and no row over HTTP but the last, nor its
warming, shares a question with another. With 8 clients on one core each waits for eight answers, and 5 ms
mean 0.6 ms of CPU for each. In an open loop questions come at a rate, and what is waited is what a person
would wait. Once more, questions repeat as people's do, the n-th as often as 1/n, and the server remembers
answers. Waiting needs a quiet machine; CPU time a question is given beside it. Beside it, on the same
texts, bare tantivy with one field, and SQLite's FTS5: both find ids only, in one process, and so leave out
HTTP, snippets, folding and everything stored. Up to 20,000 pages also FTS5 with all that: the second engine
of tests/search/second_engine, which passes the same conformance suite.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.search_parts.clients import (
    CLIENTS,
    cpu_seconds,
    serving,
    waits_at_rate_ms,
    waits_ms,
)
from benchmarks.search_parts.corpus import Corpus
from benchmarks.search_parts.rivals import Made, bare_tantivy, fts5
from ipmicra.carrier.package import Package, PackageHeader
from ipmicra.model.page import Page
from ipmicra.model.records import PageSeen
from ipmicra.model.search import SearchRequest
from ipmicra.search.contract import SearchIndex
from ipmicra.search.tantivy.index import TantivyIndex
from tests.search.second_engine.fts5_index import Fts5Index

QUESTIONS = 2_000
RATES = (200, 400)  # questions per second
_FTS5_QUESTIONS = 100  # of some 60 ms each
_SECOND_PAGES_MAX = 20_000  # beyond, making it takes longer than all the rest
_WARMING = 300
_PACKAGE = 2_000


def main() -> None:
    count = int(os.environ.get("IPMICRA_DOCUMENTS", "20000"))
    corpus = Corpus()
    questions = corpus.questions(5 * QUESTIONS + _WARMING, count)
    temporary = Path(tempfile.mkdtemp(prefix="ipmicra-search-"))
    folder = Path(os.environ.get("IPMICRA_INDEX", temporary))
    print(f"{count:,} pages, {QUESTIONS} questions of one to three words, none twice but where said")
    print(f"{'':38} {'pages/s':>9} {'size/text':>9} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8}")
    try:
        _ours(corpus, count, questions, folder)
        if count <= _SECOND_PAGES_MAX:
            _second(corpus, count, questions[:_FTS5_QUESTIONS], folder)
        for rival, path, asked in (
            (bare_tantivy, folder / "bare", questions[:QUESTIONS]),
            (fts5, folder / "fts5.sqlite", questions[:_FTS5_QUESTIONS]),
        ):
            name, made, ask = rival(corpus.batches(count, folder / "pages"), path)
            _row(name, *_making(made, count, path), _timed(ask, asked))
    finally:
        shutil.rmtree(temporary)


def _ours(corpus: Corpus, count: int, questions: list[str], folder: Path) -> None:
    there = folder / "ours"
    if not there.exists():
        made = _filled(TantivyIndex(there, writable=True), corpus.batches(count, folder / "pages"))
        _row("ipmicra, indexing", *_making(made, count, there), [])
    index = TantivyIndex(there)

    def ask(text: str) -> object:
        return index.search(SearchRequest(text=text))

    _timed(ask, questions[-_WARMING:])
    _row("ipmicra, snippets, folding, in process", None, None, _timed(ask, questions[:QUESTIONS]))
    index.close()
    with serving(there) as server:
        _over_http(server.pid, corpus, questions)


def _over_http(server: int, corpus: Corpus, questions: list[str]) -> None:
    """Every row asks what no row before it has asked, but for the last."""
    parts = [questions[at : at + QUESTIONS] for at in range(0, 5 * QUESTIONS, QUESTIONS)]

    def row(name: str, wait: Callable[[list[str]], list[float]], asked: list[str]) -> None:
        before = cpu_seconds(server)
        waits = wait(asked)
        _row(name, None, None, waits, 1000 * (cpu_seconds(server) - before) / len(asked))

    json, page = partial(waits_ms, "/api/search"), partial(waits_ms, "/search")
    json(questions[-_WARMING:])
    row(f"over HTTP, {CLIENTS} clients, JSON", json, parts[0])
    row(f"over HTTP, {CLIENTS} clients, page", page, parts[1])
    for rate, part in zip(RATES, parts[2:4], strict=True):
        at_rate = partial(waits_at_rate_ms, "/api/search", per_second=rate)
        row(f"over HTTP, {rate} questions/s, JSON", at_rate, part)
    row(f"over HTTP, {CLIENTS} clients, repeating", json, corpus.repeated(parts[4], QUESTIONS))


def _second(corpus: Corpus, count: int, questions: list[str], folder: Path) -> None:
    """FTS5 behind the same contract: all that ours does, in the same process."""
    there = folder / "second"
    made = None
    if not there.exists():
        made = _filled(Fts5Index(there), corpus.batches(count, folder / "pages"))
    index = Fts5Index(there)
    times = _timed(lambda text: index.search(SearchRequest(text=text)), questions)
    _row("FTS5, all that ours does, in process", *_making(made, count, there), times)
    index.close()


def _filled(index: SearchIndex, batches: Iterator[list[Page]]) -> Made:
    text_bytes, spent_s = 0, 0.0
    for number, pages in enumerate(batches):
        text_bytes += sum(len(page.text.encode()) for page in pages)
        packages = [
            _package(pages[at : at + _PACKAGE], number, at) for at in range(0, len(pages), _PACKAGE)
        ]
        start = time.process_time()
        for package in packages:
            index.integrate(package, str(package.header.sequence))
        if number % 2:
            index.commit()
        spent_s += time.process_time() - start
    start = time.process_time()
    index.commit()
    index.close()
    return Made(spent_s + time.process_time() - start, text_bytes)


def _package(pages: list[Page], batch: int, at: int) -> Package:
    sequence = batch * 10_000 + at
    header = PackageHeader(crawler="c", sequence=sequence, records=len(pages), inflated_bytes=0)
    return Package(
        header, [PageSeen(url=page.url, visit=1, fetched_at_ms=0, page=page) for page in pages]
    )


def _making(made: Made | None, count: int, path: Path) -> tuple[float | None, float | None]:
    """Pages a second, and the size of what was made over the size of the text."""
    return (None, None) if made is None else (count / made.spent_s, _size(path) / made.text_bytes)


def _timed(ask: Callable[[str], object], questions: list[str]) -> list[float]:
    times = []
    for question in questions:
        start = time.process_time()
        ask(question)
        times.append((time.process_time() - start) * 1000)
    return times


def _size(folder: Path) -> int:
    files = [folder] if folder.is_file() else folder.rglob("*")
    return sum(path.stat().st_size for path in files if path.is_file())


def _row(
    name: str,
    pages_per_s: float | None,
    share: float | None,
    times: list[float],
    cpu_ms: float | None = None,
) -> None:
    """Where `times` are CPU times themselves, `cpu_ms` is their mean."""
    if times and cpu_ms is None:
        cpu_ms = statistics.mean(times)
    cells = [
        "" if pages_per_s is None else f"{pages_per_s:,.0f}",
        "" if share is None else f"{share:.2f}",
        f"{statistics.median(times):.2f}" if times else "",
        f"{statistics.quantiles(times, n=100)[98]:.2f}" if times else "",
        "" if cpu_ms is None else f"{cpu_ms:.2f}",
    ]
    print(f"{name:38} {cells[0]:>9} {cells[1]:>9} {cells[2]:>8} {cells[3]:>8} {cells[4]:>8}", flush=True)
