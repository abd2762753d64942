"""`ipmicra registry build`: registry files -> the tree of subnets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Group
from rich.progress import Progress, TaskID

from ipmicra.cli import terminal
from ipmicra.cli.display.registry_tables import changes_table, skipped_table, statistics_table
from ipmicra.registry.files import registry_files
from ipmicra.registry.folder import fetched_files, tree_file
from ipmicra.registry.sample_world import sample_folder
from ipmicra.registry.tree_build import BuildReport, build


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE|FOLDER]...")
@click.option(
    "--sample", is_flag=True, help="Build from the small generated world that comes with ipmicra."
)
@click.option(
    "--tree",
    "tree",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the tree to this file.",
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context, places: tuple[Path, ...], sample: bool, tree: Path | None, as_json: bool
) -> None:
    """Make the tree of subnets from registry files.

    Without files: from those that `ipmicra registry fetch` has downloaded. Formats are recognised by the
    contents; gzip, bzip2 and zstd are unpacked while reading. The new tree is made beside the old one and
    replaces it at once; the old one stays if too many records are malformed, or if you interrupt.

    \b
    Examples:
      ipmicra registry build
      ipmicra registry build ~/whois/ripe.db.gz ~/whois/arin_db.xml
      ipmicra registry build ~/registry-data/            every registry file in a folder
      ipmicra registry build --sample                    no data at hand? try this
      ipmicra --set registry.malformed_share_max=0.05 registry build
    """
    if sample and places:
        raise click.UsageError("give files or --sample, not both")
    settings = terminal.settings_of(context)
    if sample:
        places = (sample_folder(),)
    found = registry_files(places or (fetched_files(settings.data_folder),))
    for path in found.left_out:
        terminal.print_note(f"left out, no registry file: {path}")
    with terminal.progress() as progress:
        report = build(
            found,
            tree or tree_file(settings.data_folder),
            settings.registry.malformed_share_max,
            _Bars(progress),
        )
    if report.old_tree_refused:
        terminal.print_note(f"not compared with the old tree: {report.old_tree_refused}")
    terminal.show(report, as_json, lambda: _rendered(report))


class _Bars:
    """A bar a file, then a line a stage."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: TaskID | None = None

    def reading(self, name: str, total_bytes: int) -> Callable[[int], None]:
        task = self._progress.add_task(name, total=total_bytes)
        return lambda read_bytes: self._progress.update(task, completed=read_bytes)

    def stage(self, name: str) -> None:
        if self._last is not None:
            self._progress.update(self._last, total=1, completed=1)
        self._last = self._progress.add_task(name, total=None)


def _rendered(report: BuildReport) -> Group:
    parts = [statistics_table(report.statistics, countries_max=5), skipped_table(report.about.skipped)]
    if report.changes is not None:
        parts.append(changes_table(report.changes))
    return Group(*parts, f"the tree is at {report.tree}")
