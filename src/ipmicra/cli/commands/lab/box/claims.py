"""`ipmicra lab box claims`: what can be shown in the box."""

from __future__ import annotations

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.lab.box.claims import claim, names


@click.command()
@terminal.json_option
def command(as_json: bool) -> None:
    """List the claims: names for `ipmicra lab box claim`, and what each asks.

    \b
    Examples:
      ipmicra lab box claims
      ipmicra lab box claims --json
    """
    rows = {name: claim(name).TITLE for name in names()}
    terminal.show(rows, as_json, lambda: _table(rows))


def _table(rows: dict[str, str]) -> Table:
    table = Table("name", "what it asks", box=None)
    for name, title in rows.items():
        table.add_row(name, title)
    return table
