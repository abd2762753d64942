"""`ipmicra crawl`: sites in, packages out, with a display to watch."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec
import uvloop
from rich.live import Live
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.main import INTERRUPTED
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.preview import Preview, preview
from ipmicra.crawler.progress import Progress
from ipmicra.crawler.running import Crawl, CrawlWish, tune_process
from ipmicra.crawler.sharing.team import Team, check_same_processes
from ipmicra.errors import SiteFault
from ipmicra.settings import Settings


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--pages", type=click.IntRange(1), help="Stop after so many pages, over all runs.")
@click.option(
    "--scope",
    type=click.Choice(["site", "domain", "prefix", "pattern", "any"]),
    default="site",
    show_default=True,
    help="What is followed: the URLs' sites, their names and those under them, all that begins like "
    "them, all that --pattern finds, or everything.",
)
@click.option("--pattern", metavar="REGEX", help="With --scope pattern: what a URL must contain.")
@click.option("--depth", type=click.IntRange(0), help="Follow at most so many links from the URLs.")
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Divide the sites, by their addresses, among so many processes: one a core.",
)
@click.option("--watch", is_flag=True, help="Stay, and visit pages again when they are due.")
@click.option(
    "--warc",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also archive raw answers, as .warc.gz.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be in scope or forbidden.")
@click.option("--name", metavar="NAME", help="The crawl's name; by default made from the URLs.")
@click.option(
    "--allow-range",
    "ranges",
    multiple=True,
    metavar="CIDR",
    help="Open an address range that is not public, such as 127.0.0.0/8.",
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    urls: tuple[str, ...],
    ranges: tuple[str, ...],
    processes: int,
    dry_run: bool,
    as_json: bool,
    **wishes: Any,
) -> int:
    """Crawl sites into packages, politely; run again, it goes on where it was.

    Ctrl-C stops when the requests under way have ended, a second one at once; nothing is lost either way.

    \b
    Examples:
      ipmicra --set crawler.contact=me@example.org crawl https://example.org --pages 1000
      ipmicra crawl http://127.0.0.1:8000/ --allow-range 127.0.0.0/8
      ipmicra crawl https://example.org/docs/ --scope prefix --depth 5
      ipmicra crawl https://example.org --dry-run
      ipmicra crawl https://example.org https://example.net --processes 2
      ipmicra crawl https://example.org --watch
      ipmicra crawl https://example.org --warc example.warc.gz
    """
    settings = _with_ranges(terminal.settings_of(context), ranges)
    crawl = Crawl(settings, _wish(urls, wishes))
    tune_process()
    if dry_run:
        shown = uvloop.run(preview(crawl))
        terminal.show(shown, as_json, lambda: _preview_table(shown))
        return 0
    for grant in crawl.plan.grants:
        rate = f"{grant.requests_per_second:g} requests/s on {grant.connections} connections"
        terminal.remark(f"granted: {grant.site}, {rate}")
    check_same_processes(crawl, processes)
    display = _Display(crawl.name)
    if processes > 1:
        progress, counts = display.run_team(Team(crawl, processes))
    else:
        progress, counts = uvloop.run(display.run(crawl))
    spools = f"{crawl.spool_folder}.*of{processes}" if processes > 1 else str(crawl.spool_folder)
    summary = _summary(crawl.name, progress, counts, display.interrupted, spools)
    terminal.show(summary, as_json, lambda: _summary_table(summary))
    if display.interrupted:
        return INTERRUPTED
    if progress.failures and not (progress.seen or progress.unchanged):
        raise SiteFault(f"crawling {' '.join(urls)}: no page answered: {dict(progress.failures)}")
    return 0


def _with_ranges(settings: Settings, ranges: tuple[str, ...]) -> Settings:
    opened = (*settings.fetching.open_ranges, *ranges)
    fetching = msgspec.structs.replace(settings.fetching, open_ranges=opened)
    return msgspec.structs.replace(settings, fetching=fetching)


def _wish(urls: tuple[str, ...], wishes: dict[str, Any]) -> CrawlWish:
    return CrawlWish(
        seeds=urls,
        scope=wishes["scope"],
        pattern=wishes["pattern"],
        pages_max=wishes["pages"],
        depth_max=wishes["depth"],
        watch=wishes["watch"],
        name=wishes["name"],
        warc=wishes["warc"],
    )


class _Display:
    """The live figures on stderr, and Ctrl-C."""

    def __init__(self, name: str) -> None:
        self.interrupted = False
        self._name = name
        console = terminal.aside()
        self._live = Live(console=console, refresh_per_second=4, transient=True)
        self._is_shown = console.is_terminal

    async def run(self, crawl: Crawl) -> tuple[Progress, Counts]:
        if not self._is_shown:
            return await crawl.run(on_start=self._catch_interrupts)
        with self._live:
            return await crawl.run(self._update, self._catch_interrupts)

    def run_team(self, team: Team) -> tuple[Progress, Counts]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._interrupt(team.stop, team.kill))
        if not self._is_shown:
            return team.run(lambda _progress, _counts: None)
        with self._live:
            return team.run(self._update)

    def _catch_interrupts(self, engine: Engine) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, engine.stop, lambda: None)

    def _interrupt(self, stop: Callable[[], None], kill: Callable[[], None]) -> None:
        if self.interrupted:
            kill()
            if self._is_shown:
                self._live.stop()
            os._exit(INTERRUPTED)
        self.interrupted = True
        terminal.remark("stopping; Ctrl-C again stops at once")
        stop()

    def _update(self, progress: Progress, counts: Counts) -> None:
        table = Table(title=f"crawl {self._name}", show_header=False, box=None)
        for name, value in _figures(progress, counts).items():
            table.add_row(name, value)
        self._live.update(table)


def _figures(progress: Progress, counts: Counts) -> dict[str, str]:
    return {
        "pages": f"{counts.pages:,} ({progress.pages:,} in this run, {progress.pages_per_second():,.1f}/s)",
        "sites": f"{progress.sites_open:,} open of {counts.sites:,}",
        "queue": f"{counts.pending:,} of {counts.known:,} known URLs",
        "new or changed": f"{progress.seen:,}",
        "unchanged": f"{progress.unchanged:,}",
        "gone, moved": f"{progress.gone:,}, {progress.moved:,}",
        "errors": f"{progress.failed:,} ({progress.put_off:,} put off)",
        "forbidden by robots.txt": f"{progress.forbidden:,}",
        "bytes": f"{progress.bytes_on_wire / 1e6:,.1f} MB",
    }


class Summary(msgspec.Struct, frozen=True):
    """What `--json` prints at the end."""

    crawl: str
    interrupted: bool
    seconds: float
    progress: Progress
    known: int
    pending: int
    pages: int
    sites: int
    spool: str


def _summary(name: str, progress: Progress, counts: Counts, interrupted: bool, spools: str) -> Summary:
    return Summary(
        name,
        interrupted,
        round(progress.seconds(), 3),
        progress,
        counts.known,
        counts.pending,
        counts.pages,
        counts.sites,
        spools,
    )


def _summary_table(summary: Summary) -> Table:
    counts = Counts(summary.known, summary.pending, 0, summary.pages, summary.sites)
    table = Table(title=f"crawl {summary.crawl}", show_header=False)
    for name, value in _figures(summary.progress, counts).items():
        table.add_row(name, value)
    for kind, count in summary.progress.failures.most_common():
        table.add_row(f"  {kind}", f"{count:,}")
    table.add_row("packages", f"{summary.progress.packages:,} in {summary.spool}")
    return table


def _preview_table(shown: Preview) -> Table:
    table = Table("URL", "would be", title="a dry run: only robots.txt and the given URLs were fetched")
    for entry in shown.entries:
        table.add_row(entry.url, entry.verdict)
    return table
