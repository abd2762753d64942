"""`ipmicra settings`: every setting, its value, and where the value comes from."""

from __future__ import annotations

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.settings import SettingInfo


@click.command()
@terminal.json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Show every setting, its value and where it comes from.

    \b
    A setting is looked up, later ones winning, in
      1. the settings file      [general]  data_folder = "/srv/ipmicra"
      2. the environment        IPMICRA_GENERAL_DATA_FOLDER=/srv/ipmicra
      3. the command line       ipmicra --set general.data_folder=/srv/ipmicra ...

    \b
    Examples:
      ipmicra settings
      ipmicra --settings my.toml settings --json
    """
    rows = terminal.settings_rows(context)
    terminal.show([row._asdict() for row in rows], as_json, lambda: _table(rows))


def _table(rows: list[SettingInfo]) -> Table:
    table = Table("setting", "value", "from", "what it is")
    for row in rows:
        table.add_row(row.name, str(row.value), row.source, row.description)
    return table
