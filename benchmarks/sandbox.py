"""What do the sandbox and the broker cost, and how soon after dispatch is the first page fetched?

The same hosted crawler twice, in the host's own process and in a sandbox: same sites (those of the crawl
benchmark, behind nginx on loopback), same settings, store and meter. The server has one core, the host
and its crawler share the other, so that the cost of the broker shows in pages per second. Both figures
count from the first fetch on; starting is shown by itself. Each run has its own process, runs alternate,
and medians are shown with the least and the most. Pages per second are meaningful on an otherwise idle
machine only: on a busy one two processes get two shares of the core. The server's log must show every
page for both. Bounds: at most 15 % of pages/s; at most 5 s from dispatch to the first fetch.

    python -m benchmarks sandbox --pages 2000 --rounds 3
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks.crawl_parts.documentation_sites import documentation_sites
from benchmarks.crawl_parts.web_server import Served, serving
from ipmicra.crawler.crawl import tune_process
from ipmicra.host.hosted.in_process import InProcessCrawler
from ipmicra.host.hosted.interface import STATE_FOLDER, HostedCrawler
from ipmicra.host.hosted.sandboxed import SandboxedCrawler
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.sandbox.code import own_code
from ipmicra.host.store import HeldSite, HostStore
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.urls import Url, site_of
from ipmicra.settings import Settings

SERVER_CORE, HOST_CORE = 0, 1
COST_MAX, DISPATCH_SECONDS_MAX = 0.15, 5.0
CONNECTIONS = 4
WAYS = ("in the dock", "in a sandbox")


class Run(NamedTuple):
    """One crawl of all sites."""

    pages_per_second: float
    pages_per_cpu_second: float
    first_fetch_seconds: float
    missing: int


def main() -> None:
    wishes = _wishes()
    console = Console(width=120)
    with tempfile.TemporaryDirectory(prefix="ipmicra-sandbox-") as folder:
        work = Path(folder)
        work.chmod(0o755)  # nginx's worker is another user
        sites = documentation_sites(wishes.cache, wishes.pages)
        with serving(sites, work, SERVER_CORE) as served:
            runs: dict[str, list[Run]] = {way: [] for way in WAYS}
            for number in range(wishes.rounds):
                for way in WAYS:
                    place = work / f"{number}-{WAYS.index(way)}"
                    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
                        runs[way].append(fresh.submit(_run, way, served, place).result())
    console.print(_table(runs, len(served.pages())))


def _wishes() -> argparse.Namespace:
    layout = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser("sandbox", description=__doc__, formatter_class=layout)
    data = Path(os.environ.get("IPMICRA_DATA", "~/.cache/ipmicra")).expanduser()
    parser.add_argument("--pages", type=int, default=3000, help="pages in all sites together")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=data / "documentation-sites")
    return parser.parse_args()


def _run(way: str, served: Served, folder: Path) -> Run:
    """Run in a separate process, so that no run inherits the state of another."""
    os.sched_setaffinity(0, {HOST_CORE})
    tune_process()
    return uvloop.run(_crawled(way, served, folder))


async def _crawled(way: str, served: Served, folder: Path) -> Run:
    folder.mkdir()
    served.begin_log()
    settings, urls = _settings(served), served.start_urls(tls=False)
    wanted = served.pages()
    with _metered(folder, settings) as meter:
        dispatched = time.monotonic()
        tenant = _tenant(way, folder, settings, meter)
        for url in urls:
            tenant.add_site(HeldSite(site_of(Url(url)), SiteEpoch(1), ""))
        await tenant.enqueue(urls)
        tenant.start()
        first = await _first_fetch(served) - dispatched
        cpu_before = meter.cpu_seconds()
        await _all_fetched(tenant, served, len(wanted))
        seconds = time.monotonic() - dispatched - first
        await tenant.stop(5)  # all is committed, and the crawler's processor time is read once more
        cpu = meter.cpu_seconds() - cpu_before
        await tenant.close()
    missing = len(wanted - served.pages_in_log().keys())
    pages = len(wanted) - missing
    return Run(pages / seconds, pages / cpu, first, missing)


def _tenant(way: str, folder: Path, settings: Settings, meter: UsageMeter) -> HostedCrawler:
    if way == "in the dock":
        return InProcessCrawler(folder / STATE_FOLDER, "benchmark", settings.hosting, meter)
    return SandboxedCrawler(
        folder,
        "benchmark",
        settings.hosting,
        meter,
        own_code(),
        lambda: None,
        Console(stderr=True).print,
    )


@contextmanager
def _metered(folder: Path, settings: Settings) -> Iterator[UsageMeter]:
    store = HostStore(folder)
    try:
        yield UsageMeter(store, settings.host, lambda: datetime.now(UTC))
    finally:
        store.close()


def _settings(served: Served) -> Settings:
    grants = [
        {"site": url.split("/")[2], "requests_per_second": 1e6, "connections": CONNECTIONS}
        for url in served.start_urls(tls=False)
    ]
    return msgspec.convert(
        {
            "fetching": {"open_ranges": ["127.0.1.0/24"]},
            "crawler": {"contact": "benchmark@example.org", "grants": grants},
            "host": {"cpu_share_max": 64},
        },
        Settings,
    )


async def _first_fetch(served: Served) -> float:
    log = served.folder / "access.log"
    while not log.stat().st_size:
        await asyncio.sleep(0.005)
    return time.monotonic()


async def _all_fetched(tenant: HostedCrawler, served: Served, pages: int) -> None:
    """Every page in the server's log, or nothing left to fetch for some time."""
    quiet, lines = 0, 0
    while quiet < 40:
        await asyncio.sleep(0.1)
        now = (served.folder / "access.log").read_bytes().count(b" 200\n")
        if now >= pages:
            return
        quiet = quiet + 1 if now == lines and not tenant.counts().pending else 0
        lines = now


def _table(runs: dict[str, list[Run]], pages: int) -> Table:
    table = Table(title=f"{pages} pages; medians of {len(runs[WAYS[0]])} runs")
    for column in ("crawler", "pages/s", "pages/CPU-s", "first fetch s", "missing"):
        table.add_column(column, justify="left" if column == "crawler" else "right")
    medians = {way: _median(found) for way, found in runs.items()}
    for way, run in medians.items():
        figures = (
            _with_spread(run.pages_per_second, [one.pages_per_second for one in runs[way]]),
            _with_spread(run.pages_per_cpu_second, [one.pages_per_cpu_second for one in runs[way]]),
        )
        table.add_row(way, *figures, f"{run.first_fetch_seconds:.2f}", str(run.missing))
    dock, sandbox = (medians[way] for way in WAYS)
    cost = 1 - sandbox.pages_per_second / dock.pages_per_second
    cpu_cost = 1 - sandbox.pages_per_cpu_second / dock.pages_per_cpu_second
    table.add_row("cost of the sandbox", f"{cost:.1%}", f"{cpu_cost:.1%}", "", "")
    table.add_row("bound", f"{COST_MAX:.0%}", "", f"{DISPATCH_SECONDS_MAX:g}", "0")
    return table


def _with_spread(median: float, all_of_them: list[float]) -> str:
    return f"{median:,.0f} ({min(all_of_them):,.0f} to {max(all_of_them):,.0f})"


def _median(runs: list[Run]) -> Run:
    return Run(
        statistics.median(run.pages_per_second for run in runs),
        statistics.median(run.pages_per_cpu_second for run in runs),
        statistics.median(run.first_fetch_seconds for run in runs),
        max(run.missing for run in runs),
    )


if __name__ == "__main__":
    main()
