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
    knobs = terminal.knobs_of(context)
    terminal.show([knob._asdict() for knob in knobs], as_json, lambda: _table(knobs))


def _table(knobs: list[SettingInfo]) -> Table:
    table = Table("setting", "value", "from", "what it is")
    for knob in knobs:
        table.add_row(knob.name, str(knob.value), knob.source, knob.description)
    return table
