"""How fast are answers, alone and over HTTP under 8 clients, and how fast and large is the index?

Made-up pages: words drawn by Zipf's law from a made-up lexicon, so that any number can be had.
IPMICRA_DOCUMENTS says how many (default 20,000). In one process milliseconds are CPU time, over HTTP they
are what a client waits, so give that row a quiet machine. Beside it, in the same run and on the same
texts, bare tantivy with one text field, and SQLite's FTS5.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

import tantivy

from ipmicra.carrier.package import Header, Package
from ipmicra.carrier.record import PageSeen, Record
from ipmicra.crawler.extraction.page import Link, Page
from ipmicra.search.contract import Request
from ipmicra.search.tantivy_index import TantivyIndex

WORDS_OF_A_PAGE = 250
QUESTIONS = 1_000
CLIENTS = 8
PORT = 8099

_SERVER = """
import sys, uvicorn
from pathlib import Path
from ipmicra.search.serving import application
from ipmicra.search.tantivy_index import TantivyIndex
index = TantivyIndex(Path(sys.argv[1]))
uvicorn.run(application(index), port=int(sys.argv[2]), log_level="error", access_log=False)
"""


class Lexicon:
    """Made-up words, the n-th as frequent as 1/n."""

    def __init__(self, seed: int, size: int = 60_000) -> None:
        self.dice = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbg"
        self.words = [
            "".join(self.dice.choices(letters, k=self.dice.randint(3, 10))) for _ in range(size)
        ]
        self._weights = list(accumulate(1 / rank for rank in range(1, size + 1)))

    def draw(self, count: int) -> list[str]:
        return self.dice.choices(self.words, cum_weights=self._weights, k=count)


def _pages(lexicon: Lexicon, count: int) -> Iterator[Page]:
    for number in range(count):
        words = lexicon.draw(WORDS_OF_A_PAGE)
        url = f"http://s{number % 997}.example/{words[0]}/{number}"
        links = [Link(f"http://s{lexicon.dice.randrange(997)}.example/", words[7], "")]
        text = " ".join(words)
        yield Page(
            url=url, title=" ".join(words[:6]), headings=[" ".join(words[9:12])], text=text, links=links,
            language="en",
        )  # fmt: skip


def main() -> None:
    count = int(os.environ.get("IPMICRA_DOCUMENTS", "20000"))
    lexicon = Lexicon(seed=1)
    pages = list(_pages(lexicon, count))
    questions = [" ".join(lexicon.draw(2)) for _ in range(QUESTIONS)]
    text_bytes = sum(len(page.text) for page in pages)
    folder = Path(tempfile.mkdtemp(prefix="ipmicra-search-"))
    print(f"{count:,} pages, {text_bytes / 1e6:.0f} MB of text, {QUESTIONS} questions of two words")
    print(f"{'':34} {'pages/s':>9} {'size/text':>9} {'p50 ms':>8} {'p99 ms':>8}")
    try:
        _ours(pages, questions, folder / "ours", text_bytes)
        _bare_tantivy(pages, questions, folder / "bare", text_bytes)
        _fts5(pages, questions, folder / "fts5.sqlite", text_bytes)
    finally:
        shutil.rmtree(folder)


def _ours(pages: list[Page], questions: list[str], folder: Path, text_bytes: int) -> None:
    index = TantivyIndex(folder, writable=True)
    start = time.process_time()
    for at in range(0, len(pages), 2_000):
        records: list[Record] = [
            PageSeen(url=page.url, visit=1, fetched_at_ms=0, page=page)
            for page in pages[at : at + 2_000]
        ]
        header = Header(crawler="c", sequence=at, records=len(records), inflated_bytes=0)
        index.integrate(Package(header, records), str(at))
    index.commit()
    pages_per_s = len(pages) / (time.process_time() - start)
    times = _timed(lambda question: index.search(Request(text=question)), questions)
    index.close()
    _row("ipmicra, with snippets and folding", pages_per_s, _size(folder) / text_bytes, times)
    _row(f"the same over HTTP, {CLIENTS} clients", None, None, _over_http(folder, questions))


def _over_http(folder: Path, questions: list[str]) -> list[float]:
    server = subprocess.Popen([sys.executable, "-c", _SERVER, str(folder), str(PORT)])
    times: list[float] = []
    try:
        _wait_for_server()
        portions = [questions[number::CLIENTS] for number in range(CLIENTS)]
        clients = [threading.Thread(target=_client, args=(portion, times)) for portion in portions]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        server.terminate()
        server.wait()
    return times


def _wait_for_server() -> None:
    for _ in range(300):
        connection = http.client.HTTPConnection("127.0.0.1", PORT)
        try:
            connection.request("GET", "/style.css")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise TimeoutError("the server did not start")


def _client(questions: list[str], times: list[float]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    for question in questions:
        start = time.perf_counter()
        connection.request("GET", f"/search?q={quote(question)}")
        connection.getresponse().read()
        times.append((time.perf_counter() - start) * 1000)
    connection.close()


def _bare_tantivy(pages: list[Page], questions: list[str], folder: Path, text_bytes: int) -> None:
    folder.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("text", stored=True).build()
    index = tantivy.Index(schema, path=str(folder))
    start = time.process_time()
    writer = index.writer(heap_size=64 * 1024 * 1024, num_threads=1)
    for page in pages:
        writer.add_document(tantivy.Document(text=page.text))
    writer.commit()
    writer.wait_merging_threads()
    pages_per_s = len(pages) / (time.process_time() - start)
    index.reload()
    searcher = index.searcher()
    times = _timed(
        lambda question: searcher.search(index.parse_query(question, ["text"]), 10), questions
    )
    _row("tantivy, one field, ids only", pages_per_s, _size(folder) / text_bytes, times)


def _fts5(pages: list[Page], questions: list[str], path: Path, text_bytes: int) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE VIRTUAL TABLE pages USING fts5(text)")
    start = time.process_time()
    database.executemany("INSERT INTO pages VALUES (?)", [(page.text,) for page in pages])
    database.commit()
    pages_per_s = len(pages) / (time.process_time() - start)
    asked = "SELECT rowid FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"
    times = _timed(lambda question: database.execute(asked, (question,)).fetchall(), questions[:200])
    database.close()
    _row("SQLite FTS5, ids only", pages_per_s, path.stat().st_size / text_bytes, times)


def _timed(ask: Callable[[str], object], questions: list[str]) -> list[float]:
    times = []
    for question in questions:
        start = time.process_time()
        ask(question)
        times.append((time.process_time() - start) * 1000)
    return times


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _row(name: str, pages_per_s: float | None, share: float | None, times: list[float]) -> None:
    cells = [
        "" if pages_per_s is None else f"{pages_per_s:,.0f}",
        "" if share is None else f"{share:.2f}",
        f"{statistics.median(times):.2f}",
        f"{statistics.quantiles(times, n=100)[98]:.2f}",
    ]
    print(f"{name:34} {cells[0]:>9} {cells[1]:>9} {cells[2]:>8} {cells[3]:>8}", flush=True)
