"""A crawl's figures -> what a person sees of it: live while it runs, and tables at its end."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.live import Live
from rich.markup import escape
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.crawler.frontier import Counts
from ipmicra.crawler.preview import Preview
from ipmicra.crawler.progress import Progress


class LiveFigures:
    """A table on stderr that changes with the crawl, and is gone when it ends."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._latest: tuple[Progress, Counts] | None = None
        self._live = Live(
            console=terminal.stderr_console(),
            refresh_per_second=4,
            transient=True,
            get_renderable=self._now,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def update(self, progress: Progress, counts: Counts) -> None:
        self._latest = (progress, counts)

    def _now(self) -> Table:
        table = Table(show_header=False, box=None)
        if self._latest is not None:
            _add_figures(table, self._name, *self._latest)
            if wait := self._latest[0].wait_text():
                table.add_row("waits", escape(wait))
        return table

    def stop(self) -> None:
        self._live.stop()


def summary_table(name: str, progress: Progress, counts: Counts, spools: str) -> Table:
    table = Table(show_header=False)
    _add_figures(table, name, progress, counts)
    for kind, count in progress.failures.most_common():
        table.add_row(f"  {kind}", f"{count:,}")
    table.add_row("packages", escape(f"{progress.packages:,} in {spools}"))
    return table


def preview_table(shown: Preview) -> Table:
    table = Table("URL", "would be", title="a dry run: only robots.txt and the given URLs were fetched")
    for entry in shown.entries:
        table.add_row(escape(entry.url), escape(entry.verdict))
    return table


def _add_figures(table: Table, name: str, progress: Progress, counts: Counts) -> None:
    table.title = escape(f"crawl {name}")
    figures = {
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
    for figure, value in figures.items():
        table.add_row(figure, value)
