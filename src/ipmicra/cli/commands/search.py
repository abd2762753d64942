"""`ipmicra search`: answers from what `ipmicra crawl` brought home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.search_answers import shown
from ipmicra.errors import OperatorFault
from ipmicra.model.search import SearchRequest
from ipmicra.search.http.application import serve
from ipmicra.search.spool_ingest import FOLDER, integrate_all, waiting_packages
from ipmicra.search.tantivy.index import TantivyIndex

INTAKE_PAUSE_S = 5.0  # between two looks for new packages while serving


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
        terminal.print_note(f"searching {data_folder} at http://{address}:{port}/ until Ctrl-C")
        serve(data_folder, address, port, terminal.print_error, INTAKE_PAUSE_S)
        return
    if not words:
        raise click.UsageError("what should be searched for? Give words, or --serve")
    with opened_index(data_folder) as index:
        if index.page_count() == 0:
            terminal.print_note(
                "nothing has been crawled into this data folder yet: try `ipmicra crawl URL`"
            )
        request = SearchRequest(
            text=" ".join(words), limit=limit, offset=offset, per_site=0 if all_of_site else 1
        )
        answer = index.search(request)
    terminal.show(answer, as_json, lambda: shown(answer))


@contextmanager
def opened_index(data_folder: Path) -> Iterator[TantivyIndex]:
    """The index of a data folder with everything in it that has come home.

    Where another process is taking packages in, what it has finished is searched.
    """
    try:
        index = TantivyIndex(data_folder / FOLDER, writable=True)
    except OperatorFault as busy:
        terminal.print_note(f"{busy}; searching what it has finished")
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
        terminal.print_error(f"a package was refused and kept aside: {reason}")
