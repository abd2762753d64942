"""`ipmicra crawl`: sites in, packages out, with a display to watch."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
import uvloop

from ipmicra.cli import terminal
from ipmicra.cli.main import INTERRUPTED
from ipmicra.crawler.crawl import Crawl, CrawlRequest, tune_process
from ipmicra.crawler.engine import Engine
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.multiprocess.supervisor import CrawlSupervisor, check_same_processes
from ipmicra.crawler.preview import Preview, preview
from ipmicra.crawler.progress import Progress
from ipmicra.errors import SiteFault
from ipmicra.settings import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from ipmicra.cli.display.crawl_display import LiveFigures


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--pages", type=click.IntRange(1), help="Stop after this number of pages, over all runs.")
@click.option(
    "--scope",
    type=click.Choice(["site", "domain", "prefix", "pattern", "any"]),
    default="site",
    show_default=True,
    help="URLs to follow: the URLs' sites, their names and those below, all that begin like "
    "them, all that --pattern finds, or everything.",
)
@click.option(
    "--pattern", metavar="REGEX", help="With --scope pattern: regular expression that a URL must match."
)
@click.option("--depth", type=click.IntRange(0), help="Maximum number of links to follow from the URLs.")
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Number of processes that share the sites, by their addresses; one per core.",
)
@click.option("--watch", is_flag=True, help="Keep running, and visit pages again when they are due.")
@click.option(
    "--warc",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also archive raw responses, as .warc.gz.",
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
    **options: Any,
) -> int:
    """Crawl sites politely into packages. Run it again to continue.

    Ctrl-C stops when the requests in progress have ended, a second one at once; nothing is lost either way.

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
    crawl = Crawl(settings.crawl, _request(urls, options))
    tune_process()
    if dry_run:
        shown = uvloop.run(preview(crawl))
        terminal.show(shown, as_json, lambda: _preview_table(shown))
        return 0
    for grant in crawl.plan.grants:
        rate = f"{grant.requests_per_second:g} requests/s on {grant.connections} connections"
        terminal.print_note(f"granted: {grant.site}, {rate}")
    check_same_processes(crawl, processes)
    watched = _Watched(crawl.name)
    if processes > 1:
        progress, counts = watched.run_processes(CrawlSupervisor(crawl, processes))
    else:
        progress, counts = uvloop.run(watched.run(crawl))
    spools = f"{crawl.spool_folder}.*of{processes}" if processes > 1 else str(crawl.spool_folder)
    summary = _summary(crawl.name, progress, counts, watched.interrupted, spools)
    terminal.show(summary, as_json, lambda: _summary_table(crawl.name, progress, counts, spools))
    if watched.interrupted:
        return INTERRUPTED
    nothing_answered = progress.failures or (processes == 1 and not progress.pages)
    if nothing_answered and progress.last_failure and not (progress.seen or progress.unchanged):
        raise SiteFault(f"crawling {' '.join(urls)}: no page answered: {progress.last_failure}")
    return 0


def _with_ranges(settings: Settings, ranges: tuple[str, ...]) -> Settings:
    opened = (*settings.fetching.open_ranges, *ranges)
    fetching = msgspec.structs.replace(settings.fetching, open_ranges=opened)
    return msgspec.structs.replace(settings, fetching=fetching)


def _request(urls: tuple[str, ...], options: dict[str, Any]) -> CrawlRequest:
    return CrawlRequest(
        seeds=urls,
        scope=options["scope"],
        pattern=options["pattern"],
        pages_max=options["pages"],
        depth_max=options["depth"],
        watch=options["watch"],
        name=options["name"],
        warc=options["warc"],
    )


class _Watched:
    """A crawl with Ctrl-C caught, and with live figures where a person is watching."""

    def __init__(self, name: str) -> None:
        self.interrupted = False
        self._shown_until = 0.0  # end of the wait that was shown last
        self._live = _live_figures(name) if sys.stderr.isatty() else None

    async def run(self, crawl: Crawl) -> tuple[Progress, Counts]:
        if self._live is None:
            return await crawl.run(self._show_wait, self._catch_interrupts)
        with self._live:
            return await crawl.run(self._live.update, self._catch_interrupts)

    def run_processes(self, team: CrawlSupervisor) -> tuple[Progress, Counts]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._interrupt(team.stop, team.kill))
        if self._live is None:
            return team.run(self._show_wait)
        with self._live:
            return team.run(self._live.update)

    def _catch_interrupts(self, engine: Engine) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, engine.stop, lambda: None)

    def _interrupt(self, stop: Callable[[], None], kill: Callable[[], None]) -> None:
        if self.interrupted:
            kill()
            if self._live is not None:
                self._live.stop()
            os._exit(INTERRUPTED)
        self.interrupted = True
        terminal.print_note("stopping; Ctrl-C again stops at once")
        stop()

    def _show_wait(self, progress: Progress, _: Counts) -> None:
        """Without live figures: print once per wait why nothing happens."""
        wait = progress.wait_text()
        if wait and progress.waits_until > self._shown_until:
            self._shown_until = progress.waits_until
            terminal.print_note(f"waits {wait}")


class CrawlSummary(msgspec.Struct, frozen=True):
    """The output of `--json` at the end."""

    crawl: str
    interrupted: bool
    seconds: float
    progress: Progress
    known: int
    pending: int
    pages: int
    sites: int
    spool: str


def _summary(
    name: str, progress: Progress, counts: Counts, interrupted: bool, spools: str
) -> CrawlSummary:
    return CrawlSummary(
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


# Drawing code is loaded only when needed.


def _live_figures(name: str) -> LiveFigures:
    from ipmicra.cli.display.crawl_display import LiveFigures

    return LiveFigures(name)


def _summary_table(name: str, progress: Progress, counts: Counts, spools: str) -> Table:
    from ipmicra.cli.display.crawl_display import summary_table

    return summary_table(name, progress, counts, spools)


def _preview_table(shown: Preview) -> Table:
    from ipmicra.cli.display.crawl_display import preview_table

    return preview_table(shown)
