"""`ipmicra search`: answers from what `ipmicra crawl` brought home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.display.search_answers import shown
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.model.search import PER_SITE, SearchRequest
from ipmicra.net.listener import PORT_MAX
from ipmicra.search import rebuild
from ipmicra.search.contract import SearchIndex
from ipmicra.search.factory import INDEX_FOLDER, open_index
from ipmicra.search.http.application import serve
from ipmicra.search.recovery import open_or_set_aside
from ipmicra.search.spool_ingest import integrate_all, waiting_packages

INTAKE_PAUSE_S = 5.0  # between two looks for new packages while serving


@click.command()
@click.argument("words", nargs=-1)
@click.option("--limit", default=10, show_default=True, help="Results to show.")
@click.option("--offset", default=0, help="Results to skip.")
@click.option("--all-of-site", is_flag=True, help="Show all results of a site, not only its best three.")
@click.option("--serve", "serving", is_flag=True, help="Serve the search page until interrupted.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to serve on.")
@click.option(
    "--port",
    type=click.IntRange(1, PORT_MAX),
    default=8080,
    show_default=True,
    help="Port to serve on.",
)
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

    Packages that came home since the last search are taken into the index first. `ipmicra search reindex`
    makes a damaged or lost index again from the packages; to search for that word, quote it.

    \b
    Examples:
      ipmicra search climate change
      ipmicra search '"exact phrase" -without site:example.org lang:de'
      ipmicra search 'inurl:docs after:2024-01 (install OR setup)' --all-of-site
      ipmicra search tree --json --limit 50
      ipmicra search --serve --port 8080
      ipmicra search reindex
    """
    data_folder = terminal.settings_of(context).data_folder
    if serving:
        note = f"searching {data_folder} at http://{address}:{port}/ until Ctrl-C"
        serve(
            data_folder,
            address,
            port,
            terminal.print_error,
            INTAKE_PAUSE_S,
            terminal.settings_of(context).search,
            lambda: terminal.print_note(note),
        )
        return
    if words == ("reindex",):
        _reindex(data_folder)
        return
    if not words:
        raise click.UsageError("what should be searched for? Give words, or --serve")
    if not (data_folder / INDEX_FOLDER).exists() and not waiting_packages(data_folder):
        raise OperatorFault(
            f"nothing has been crawled into {data_folder} yet: try `ipmicra crawl URL`, or give "
            "general.data_folder"
        )
    with opened_index(data_folder) as index:
        if index.page_count() == 0:
            terminal.print_note("no page can be found yet: a crawl's first package is still to come")
        request = SearchRequest(
            text=" ".join(words), limit=limit, offset=offset, per_site=0 if all_of_site else PER_SITE
        )
        answer = index.search(request)
    terminal.show(answer, as_json, lambda: shown(answer))


@contextmanager
def opened_index(data_folder: Path) -> Iterator[SearchIndex]:
    """The index of a data folder with everything in it that has come home.

    Where another process is taking packages in, what it has finished is searched. A damaged index is made
    anew.
    """
    damage = open_or_set_aside(data_folder / INDEX_FOLDER)
    if damage is not None:
        terminal.print_note(f"{damage}. It is made anew from the packages")
    try:
        index = open_index(data_folder / INDEX_FOLDER, writable=True)
    except OperatorFault as busy:
        terminal.print_note(f"{busy}; searching what it has finished")
        index = open_index(data_folder / INDEX_FOLDER)
    else:
        _take_in(index, data_folder)
    try:
        yield index
    finally:
        index.close()


def _reindex(data_folder: Path) -> None:
    """The index again, beside the one in use, from all packages of all crawls."""
    if (data_folder / "coordinator.sqlite").exists():
        raise OperatorFault(f"{data_folder} is a coordinator's: use `ipmicra coordinator reindex`")
    if not waiting_packages(data_folder):
        raise OperatorFault(f"{data_folder} has no packages to make an index from")
    place = data_folder / INDEX_FOLDER
    with rebuild.building(place) as folder, rebuild.writing(place):
        with closing(open_index(folder, writable=True)) as index:
            _take_in(index, data_folder)
            pages = index.page_count()
        rebuild.swap_in(place)
    terminal.print_note(f"the index was made anew: {pages:,} pages can be found")


def _take_in(index: SearchIndex, data_folder: Path) -> None:
    packages = waiting_packages(data_folder)
    with terminal.progress() as progress:
        task = progress.add_task("taking in packages", total=len(packages))
        intake = integrate_all(index, packages, data_folder, lambda: progress.advance(task))
    for reason in intake.refused:
        terminal.print_error(f"a package was refused and kept aside: {reason}")
    if intake.refused and not index.page_count():
        raise HostFault(f"all {len(intake.refused)} packages are damaged: crawl again, or restore them")
