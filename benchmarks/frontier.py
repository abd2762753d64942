"""Does a frontier of ten million known URLs slow a crawl down, or make it larger?

A whole crawl (fetch, parse, links, text, dedupe, durable frontier, packages) of generated pages of some 36
KB with 100 links each, once with an empty frontier and once with one that knows BENCH_KNOWN_URLS other
URLs (default ten million, of 256 other sites; of the same site with BENCH_KNOWN_OF=same), each in a
process of its own, the server in another. Promised: at most 15 % fewer pages per CPU-second, at most 100
MB more resident. Then the frontier alone: operations per CPU-second.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

import msgspec
import numpy as np
import uvloop
from rich.console import Console
from rich.table import Table

from ipmicra.crawler.crawl import Crawl, CrawlRequest, tune_process
from ipmicra.crawler.decisions.politeness import RateOverride
from ipmicra.crawler.frontier import Batch, DiscoveredUrl, Frontier, VisitOutcome
from ipmicra.crawler.settings import CrawlerSettings
from ipmicra.model.urls import Url, key_of
from ipmicra.settings import GeneralSettings, Settings, load_settings

PAGES = int(os.environ.get("BENCH_PAGES", "3000"))
KNOWN_URLS = int(os.environ.get("BENCH_KNOWN_URLS", "10000000"))
KNOWN_OF = os.environ.get("BENCH_KNOWN_OF", "others")
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
LINKS_PER_PAGE, PARAGRAPHS = 100, 60
LATER_MS = int(time.time() * 1000) + 20 * 3_600_000  # further off than a crawl waits, nearer than a day


class Crawled(NamedTuple):
    pages: int
    cpu_seconds: float
    resident_mb: float
    bytes_on_wire: int
    unchanged: int
    records: int


# --- the site -------------------------------------------------------------------------------------


class PagesServer(asyncio.Protocol):
    """/0 ... /PAGES-1, each with an entity tag; answers 304 to a client that sends it."""

    words = random.Random(1).choices(
        ["quick", "brown", "fox", "lazy", "dog", "over", "the", "jumps"], k=4000
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        path = data.split(b" ", 2)[1].decode()
        number = int(path[1:]) if path[1:].isdigit() else None
        if number is None:
            self._send("404 Not Found", b"")
        elif b'"fixed"' in data:
            self._send("304 Not Modified", b"")
        else:
            self._send("200 OK", page(number))

    def _send(self, status: str, body: bytes) -> None:
        head = f'HTTP/1.1 {status}\r\nContent-Type: text/html\r\nETag: "fixed"\r\nContent-Length: {len(body)}'
        self._transport.write(f"{head}\r\n\r\n".encode() + body)


@cache
def page(number: int) -> bytes:
    dice = random.Random(number)
    links = [(number * 2 + branch) % PAGES for branch in (1, 2)]
    links += [dice.randrange(PAGES) for _ in range(LINKS_PER_PAGE - 2)]
    anchors = "".join(f'<li><a href="/{link}">chapter {link}</a></li>' for link in links)
    start = dice.randrange(3000)
    text = " ".join(PagesServer.words[start : start + 90])
    body = "".join(f"<p id=p{count}>{text} {number} {count}</p>" for count in range(PARAGRAPHS))
    head = f"<head><title>Page {number}</title></head>"
    return f"<html>{head}<body>{body}<ul>{anchors}</ul></body></html>".encode()


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(PagesServer, "127.0.0.1", port)
    await server.serve_forever()


@contextmanager
def serving() -> Iterator[str]:
    """The server in a separate process; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.frontier", "serve", str(port)])
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 0.1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


# --- the crawl ------------------------------------------------------------------------------------


def settings_for(folder: Path, **crawler: object) -> Settings:
    settings, _ = load_settings(None, {})
    grant = RateOverride(site="127.0.0.1", requests_per_second=1e6, connections=16)
    values = {"grants": (grant,), "patience_seconds": 0.1, **crawler}
    return msgspec.structs.replace(
        settings,
        general=GeneralSettings(data_folder=str(folder)),
        crawler=msgspec.convert(values, CrawlerSettings),
        fetching=msgspec.structs.replace(settings.fetching, open_ranges=("127.0.0.0/8",)),
    )


def crawl_here(folder: Path, seed: str) -> Crawled:
    """One whole crawl in this process."""
    tune_process()
    began = time.process_time()
    progress, _ = uvloop.run(
        Crawl(settings_for(folder).crawl, CrawlRequest((seed,), name="bench")).run()
    )
    used = time.process_time() - began
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    resident_mb = int(peak.split()[1]) / 1024
    return Crawled(
        progress.pages, used, resident_mb, progress.bytes_on_wire, progress.unchanged, progress.seen
    )


def crawl_in_child(folder: Path, seed: str) -> Crawled:
    command = [sys.executable, "-m", "benchmarks.frontier", "crawl", str(folder), seed]
    return Crawled(*json.loads(subprocess.run(command, check=True, capture_output=True).stdout))


def frontier_path(folder: Path) -> Path:
    return folder / "frontier" / "bench.sqlite"


def fill(path: Path, count: int, url: Url) -> None:
    """A frontier that knows `count` URLs of 256 other sites, all pending, none due.

    A key's first byte is its site's; `BENCH_KNOWN_OF=same` makes it that of the crawled site for all, as if
    all were of one site, the worst there is.
    """
    Frontier(path).close()
    database = sqlite3.connect(path)
    keys = np.random.default_rng(1).integers(-(1 << 63), 1 << 63, count, dtype=np.int64)
    if KNOWN_OF == "same":
        keys = (keys & ((1 << 56) - 1)) | np.int64(key_of(url) >> 56 << 56)
    keys = np.unique(keys)
    for site_id, pending in zip(*np.unique((keys >> 56) + 129, return_counts=True), strict=True):
        values = (int(site_id), f"http://big{site_id}.example", int(pending))
        database.execute("INSERT INTO sites (id, site, pending) VALUES (?, ?, ?)", values)
    for start in range(0, len(keys), 500_000):
        part = keys[start : start + 500_000].tolist()
        database.executemany("INSERT INTO known VALUES (?)", ((key,) for key in part))
        database.executemany(
            f"INSERT INTO queue VALUES (?, {LATER_MS}, ?, 0, 0, 0, 0, 3, 0, ?)",
            (
                ((key >> 56) + 129, key, f"/some/path/to/a/page/{key & 0xFFFFFFFF:x}.html")
                for key in part
            ),
        )
    for name in ("known", "pending"):
        database.execute("INSERT INTO facts VALUES (?, ?)", (f"count.{name}", len(keys)))
    database.execute("INSERT INTO facts SELECT 'count.sites', count(*) FROM sites")
    database.commit()
    database.close()


# --- the frontier alone ---------------------------------------------------------------------------


def operations(path: Path) -> dict[str, float]:
    """Per CPU-second: new URLs found, known ones found again, URLs leased, URLs done."""
    frontier = Frontier(path)
    urls = [
        DiscoveredUrl(Url(f"http://site{number % 50}.example/p/{number}"), 1, 0)
        for number in range(100_000)
    ]
    batches = [urls[start : start + 2_000] for start in range(0, len(urls), 2_000)]
    figures = {}
    for name in ("new URLs found", "known URLs found again"):
        began = time.process_time()
        for batch in batches:
            frontier.commit(Batch(discoveries=batch))
        figures[name] = len(urls) / (time.process_time() - began)
    began = time.process_time()
    sites = frontier.sites_to_open(1, 100)
    leased = [lease for site in sites for _ in range(10) for lease in frontier.lease(site, 1, 64)]
    figures["URLs leased"] = len(leased) / (time.process_time() - began)
    began = time.process_time()
    for start in range(0, len(leased), 200):
        done = [
            VisitOutcome(lease, 200, 1, 10**13, '"tag"', None, b"0" * 16)
            for lease in leased[start : start + 200]
        ]
        frontier.commit(Batch(visited=done), [site.id for site in sites])
    figures["pages done"] = len(leased) / (time.process_time() - began)
    frontier.close()
    return figures


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory(prefix="ipmicra-bench-") as text, serving() as seed:
        folder = Path(text)
        began = time.perf_counter()
        fill(frontier_path(folder / "full"), KNOWN_URLS, Url(seed))
        size_mb = frontier_path(folder / "full").stat().st_size / 1e6
        console.print(
            f"{KNOWN_URLS:,} URLs: {size_mb:,.0f} MB on disk, {time.perf_counter() - began:.0f} s to make"
        )
        _show_crawls(console, folder, seed)
        _show_operations(console, folder)


def _show_crawls(console: Console, folder: Path, seed: str) -> None:
    best: dict[str, Crawled] = {}
    for turn in range(ROUNDS):
        for name in ("empty", "full"):
            place = folder / f"{name}-{turn}"
            frontier_path(place).parent.mkdir(parents=True)
            if name == "full":
                subprocess.run(
                    ["cp", str(frontier_path(folder / "full")), str(frontier_path(place))], check=True
                )
            os.sync()  # or the crawl's first commits would pay for writing the copy
            seen = crawl_in_child(place, seed)
            if name not in best or seen.cpu_seconds < best[name].cpu_seconds:
                best[name] = seen
            subprocess.run(["rm", "-r", str(place)], check=True)
    table = Table(
        "known URLs", "pages", "pages/CPU-s", "resident MB", title=f"whole crawl, best of {ROUNDS}"
    )
    for name, count in (("empty", 0), ("full", KNOWN_URLS)):
        seen = best[name]
        rate = seen.pages / seen.cpu_seconds
        table.add_row(f"{count:,}", f"{seen.pages:,}", f"{rate:,.0f}", f"{seen.resident_mb:.0f}")
    console.print(table)
    slower = 1 - best["empty"].cpu_seconds / best["full"].cpu_seconds
    larger = best["full"].resident_mb - best["empty"].resident_mb
    console.print(f"slower by {slower:.1%} (promised: 15 %), larger by {larger:.0f} MB (promised: 100)")


def _show_operations(console: Console, folder: Path) -> None:
    empty = operations(folder / "alone.sqlite")
    full = operations(frontier_path(folder / "full"))
    table = Table("per CPU-second", "empty", f"{KNOWN_URLS:,} known", title="the frontier alone")
    for name in empty:
        table.add_row(name, f"{empty[name]:,.0f}", f"{full[name]:,.0f}")
    console.print(table)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port]:
            uvloop.run(serve(int(port)))
        case ["crawl", place, start]:
            print(json.dumps(crawl_here(Path(place), start)))
        case _:
            main()
