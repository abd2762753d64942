"""What does a revisit of ten thousand unchanged pages cost, against crawling them?

The same process crawls BENCH_PAGES pages (default 10,000) of some 32 KB from a local server, and
then, as a watching crawler does, visits each again with its entity tag. Shown for both: requests, bytes
from the site, bytes home, CPU and wall-clock seconds.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("BENCH_PAGES", "10000")

import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks.frontier import PAGES, serving, settings_for
from ipmicra.crawler.crawl import Crawl, CrawlRequest, tune_process
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.progress import Progress

AT_ONCE = {"revisit_seconds_first": 0.001, "revisit_seconds_min": 0.001, "revisit_seconds_max": 0.001}


class Cost(NamedTuple):
    requests: int
    bytes_from_site: int
    bytes_home: int
    cpu_seconds: float
    seconds: float
    unchanged: int


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ipmicra-bench-") as folder, serving() as seed:
        tune_process()
        first = visit(Path(folder), seed, watch=False, **AT_ONCE)
        again = visit(Path(folder), seed, watch=True)
    table = Table("", "crawl", "revisit", "revisit / crawl", title=f"{PAGES:,} pages")
    for name, before, after in zip(Cost._fields, first, again, strict=True):
        share = f"{after / before:.4f}" if before else ""
        table.add_row(name.replace("_", " "), f"{before:,.1f}", f"{after:,.1f}", share)
    Console().print(table)


def visit(folder: Path, seed: str, watch: bool, **crawler: object) -> Cost:
    """All pages once; a watching crawl is stopped when it has seen them all again."""
    engines: list[Engine] = []

    def stop_when_done(progress: Progress, _: Counts) -> None:
        if watch and progress.unchanged + progress.seen >= PAGES:
            engines[0].stop()

    job = Crawl(settings_for(folder, **crawler).crawl, CrawlRequest((seed,), watch=watch, name="bench"))
    home = bytes_in(job.spool_folder)
    cpu, wall = time.process_time(), time.perf_counter()
    progress, _ = uvloop.run(job.run(stop_when_done, engines.append))
    return Cost(
        progress.pages,
        progress.bytes_on_wire,
        bytes_in(job.spool_folder) - home,
        time.process_time() - cpu,
        time.perf_counter() - wall,
        progress.unchanged,
    )


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.package"))
