"""`ipmicra registry fetch`: the registries' public files -> the data folder."""

from __future__ import annotations

from pathlib import Path

import click
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column, Table

from ipmicra.cli import terminal
from ipmicra.errors import SiteFault
from ipmicra.registry.download.connectivity import check_names
from ipmicra.registry.download.downloads import DownloadOutcome, RetryPolicy, fetch
from ipmicra.registry.download.sources import REGISTRIES, RemoteFile, files_to_fetch
from ipmicra.registry.folder import fetched_files


@click.command()
@click.option(
    "--registry",
    "registries",
    multiple=True,
    type=click.Choice(REGISTRIES),
    help="Fetch only from this registry; may be repeated.",
)
@click.option(
    "--into", "folder", type=click.Path(path_type=Path, file_okay=False), help="Folder for the files."
)
@click.option(
    "--list",
    "only_list",
    is_flag=True,
    help="Only list the files that would be fetched, with their URLs.",
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    registries: tuple[str, ...],
    folder: Path | None,
    only_list: bool,
    as_json: bool,
) -> None:
    """Download the five registries' public files.

    Only what has changed since the last time is fetched; what was cut off is taken up where it ended;
    checksums are compared where they are published. If a registry is away the others are fetched all the
    same, and the command ends with exit code 4.

    ARIN and LACNIC hand out their bulk WHOIS by agreement only: set registry.arin_bulk_url and
    registry.lacnic_bulk_url if you have one, or give their files to `ipmicra registry build`.

    \b
    Examples:
      ipmicra registry fetch
      ipmicra registry fetch --registry ripencc --registry apnic
      ipmicra registry fetch --list
      ipmicra --set registry.timeout_s=10 registry fetch
    """
    settings = terminal.settings_of(context)
    files = files_to_fetch(settings.registry, registries)
    if only_list:
        terminal.show([file._asdict() for file in files], as_json, lambda: _list(files))
        return
    check_names(files)
    patience = RetryPolicy(settings.registry.timeout_s, settings.registry.attempts_max)
    with _bars() as bars:
        outcomes = [
            _fetched(file, folder or fetched_files(settings.data_folder), patience, bars)
            for file in files
        ]
    terminal.show(outcomes, as_json, lambda: _table(outcomes))
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    if failed:
        raise SiteFault(
            f"{len(failed)} of {len(outcomes)} files could not be fetched: "
            + "; ".join(outcome.detail for outcome in failed)
            + ". The files from before are unchanged; try again later."
        )


def _bars() -> Progress:
    console = terminal.stderr_console()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _fetched(file: RemoteFile, folder: Path, patience: RetryPolicy, bars: Progress) -> DownloadOutcome:
    if bars.disable:
        terminal.print_note(f"fetching {file.url}")
    task = bars.add_task(f"{file.registry} {file.name}", total=None)

    def advance(here_bytes: int, total_bytes: int) -> None:
        bars.update(task, completed=here_bytes, total=total_bytes if total_bytes >= 0 else None)

    outcome = fetch(file, folder, patience, advance)
    bars.update(task, total=outcome.size_bytes or 1, completed=outcome.size_bytes or 1)
    return outcome


def _table(outcomes: list[DownloadOutcome]) -> Table:
    table = Table("registry", "file", "outcome", "bytes", "checksum", "")
    for outcome in outcomes:
        size = f"{outcome.size_bytes:,}" if outcome.size_bytes else ""
        row = (
            outcome.registry,
            outcome.name,
            outcome.state,
            size,
            outcome.checksum,
            escape(outcome.detail),
        )
        table.add_row(*row, style="red" if outcome.state == "failed" else "")
    return table


def _list(files: list[RemoteFile]) -> Table:
    table = Table("registry", Column("file", overflow="fold"))
    for file in files:
        table.add_row(file.registry, escape(file.url))
    return table
