"""`ipmicra coordinator init`: create an empty coordinator, to set it up before it runs."""

from __future__ import annotations

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, settings_with
from ipmicra.coordinator.folder import database_address, make_data_folder
from ipmicra.coordinator.store.sql.database import Database


@click.command()
@database_option
@click.pass_context
def command(context: click.Context, database: str | None) -> None:
    """Make the data folder and the database of a new coordinator, and nothing else.

    `ipmicra coordinator run` does the same when it starts for the first time. All other commands refuse to
    make a coordinator, so that a mistyped folder or a forgotten --database is noticed.

    \b
    Examples:
      ipmicra coordinator init
      ipmicra coordinator init --database postgresql://ipmicra@db.example.org/ipmicra
    """
    settings = settings_with(context, database)
    make_data_folder(settings.data_folder)
    opened = Database(database_address(settings.coordinator.database, settings.data_folder))
    opened.close()
    terminal.print_note(f"a coordinator is in {opened.address}; start it with: ipmicra coordinator run")
