"""`ipmicra search`: answers from what `ipmicra crawl` brought home."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Group
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.errors import OperatorFault
from ipmicra.search.contract import Answer, Hit, Request
from ipmicra.search.intake import FOLDER, integrate_all, waiting_packages
from ipmicra.search.serving import serve
from ipmicra.search.tantivy_index import TantivyIndex

INTAKE_PAUSE_S = 5.0  # between two looks for new packages while serving
_MARK = re.compile(r"<mark>(.*?)</mark>")


@click.command()
@click.argument("words", nargs=-1)
@click.option("--limit", default=10, show_default=True, help="Results to show.")
@click.option("--offset", default=0, help="Results to skip.")
@click.option("--all-of-site", is_flag=True, help="Show all results of a site, not only its best.")
@click.option("--serve", "serving", is_flag=True, help="Serve the search page until interrupted.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to serve.")
@click.option("--port", default=8080, show_default=True, help="The port to serve at.")
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    words: tuple[str, ...],
    limit: int,
    offset: int,
    all_of_site: bool,
    serving: bool,
    address: str,
    port: int,
    as_json: bool,
) -> None:
    """Search the pages that were crawled.

    Packages that came home since the last search are taken into the index first.

    \b
    Examples:
      ipmicra search climate change
      ipmicra search '"exact phrase" -without site:example.org lang:de'
      ipmicra search 'inurl:docs after:2024-01 (install OR setup)' --all-of-site
      ipmicra search tree --json --limit 50
      ipmicra search --serve --port 8080
    """
    data_folder = terminal.settings_of(context).data_folder
    if serving:
        terminal.remark(f"searching {data_folder} at http://{address}:{port}/ until Ctrl-C")
        serve(data_folder, address, port, terminal.complain, INTAKE_PAUSE_S)
        return
    if not words:
        raise click.UsageError("what should be searched for? Give words, or --serve")
    with opened_index(data_folder) as index:
        if index.page_count() == 0:
            terminal.remark(
                "nothing has been crawled into this data folder yet: try `ipmicra crawl URL`"
            )
        request = Request(
            text=" ".join(words), limit=limit, offset=offset, per_site=0 if all_of_site else 1
        )
        answer = index.search(request)
    terminal.show(answer, as_json, lambda: _shown(answer))


@contextmanager
def opened_index(data_folder: Path) -> Iterator[TantivyIndex]:
    """The index of a data folder with everything in it that has come home.

    Where another process is taking packages in, what it has finished is searched.
    """
    try:
        index = TantivyIndex(data_folder / FOLDER, writable=True)
    except OperatorFault as busy:
        terminal.remark(f"{busy}; searching what it has finished")
        index = TantivyIndex(data_folder / FOLDER)
    else:
        _take_in(index, data_folder)
    try:
        yield index
    finally:
        index.close()


def _take_in(index: TantivyIndex, data_folder: Path) -> None:
    packages = waiting_packages(data_folder)
    with terminal.progress() as progress:
        task = progress.add_task("taking in packages", total=len(packages))
        intake = integrate_all(index, packages, data_folder, lambda: progress.advance(task))
    for reason in intake.refused:
        terminal.complain(f"a package was refused and kept aside: {reason}")


def _shown(answer: Answer) -> Group:
    parts = [_hit(hit) for hit in answer.hits]
    closing = Text(f"{answer.total} pages match, {answer.took_ms:.1f} ms", style="dim")
    for remark in answer.remarks:
        closing.append(f"; {remark}")
    if answer.did_you_mean:
        closing.append(f"\nDid you mean: {answer.did_you_mean}")
    return Group(*parts, closing)


def _hit(hit: Hit) -> Text:
    text = Text()
    text.append(hit.title, style="bold")
    text.append(f"\n  {hit.url}\n", style="green")
    text.append("  ").append_text(_marked(hit.snippet)).append("\n")
    seen = datetime.fromtimestamp(hit.fetched_at_ms / 1000, tz=UTC)
    notes = [f"seen {seen:%Y-%m-%d %H:%M} UTC by {hit.crawler}"]
    if hit.alike:
        notes.append(f"{hit.alike} alike")
    if hit.more_from_site:
        notes.append(f"{hit.more_from_site} more from {hit.site}")
    return text.append(f"  {', '.join(notes)}\n", style="dim")


def _marked(snippet: str) -> Text:
    text, at = Text(), 0
    for match in _MARK.finditer(snippet):
        text.append(html.unescape(snippet[at : match.start()]))
        text.append(html.unescape(match[1]), style="bold yellow")
        at = match.end()
    return text.append(html.unescape(snippet[at:]))
