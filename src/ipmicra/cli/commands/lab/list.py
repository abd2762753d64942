"""`ipmicra lab list`: the experiments there are."""

from __future__ import annotations

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.lab.experiments import experiment, names


@click.command()
@terminal.json_option
def command(as_json: bool) -> None:
    """List the experiments that `ipmicra lab run` can run.

    \b
    Examples:
      ipmicra lab list
      ipmicra lab list --json
    """
    found = [{"name": name, "title": experiment(name).TITLE} for name in names()]
    terminal.show(found, as_json, lambda: _table(found))


def _table(found: list[dict[str, str]]) -> Table:
    table = Table("experiment", "what it asks")
    for row in found:
        table.add_row(row["name"], row["title"])
    return table
