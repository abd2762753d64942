"""`ipmicra registry stats`: what is in the tree, and what was skipped when it was made."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.console import Group

from ipmicra.cli import terminal
from ipmicra.cli.display.registry_tables import skipped_table, statistics_table
from ipmicra.registry.folder import tree_file
from ipmicra.registry.statistics import TreeStatistics, statistics_of
from ipmicra.registry.tree_build import About
from ipmicra.registry.treefile import open_tree


class TreeReport(msgspec.Struct, frozen=True):
    """The output of `--json`."""

    tree: str
    statistics: TreeStatistics
    about: About


@click.command()
@click.option("--tree", "tree", type=click.Path(path_type=Path, dir_okay=False), help="The tree's file.")
@click.option(
    "--countries", "countries_max", default=20, show_default=True, help="Number of countries to list."
)
@terminal.json_option
@click.pass_context
def command(context: click.Context, tree: Path | None, countries_max: int, as_json: bool) -> None:
    """Say what is in the tree: ranges, organisations, depth, by registry and by country.

    Also what is not in it: records that were malformed, by kind and with examples, and records that
    are not allocations. Every byte of the file is compared with its checksums on the way; a damaged tree
    is refused, and the damaged part named.

    \b
    Examples:
      ipmicra registry stats
      ipmicra registry stats --countries 300
      ipmicra registry stats --json | jq .about.skipped.malformed
    """
    path = tree or tree_file(terminal.settings_of(context).data_folder)
    opened = open_tree(path, checks_every_byte=True)
    about = msgspec.convert(opened.about, About)
    report = TreeReport(str(path), statistics_of(opened.tree), about)
    terminal.show(report, as_json, lambda: _rendered(report, countries_max))


def _rendered(report: TreeReport, countries_max: int) -> Group:
    return Group(
        statistics_table(report.statistics, countries_max),
        skipped_table(report.about.skipped),
        f"{report.tree}, built {report.about.built_at} from {', '.join(report.about.files)}",
    )
