"""`ipmicra coordinator resume`: a paused host works again."""

from __future__ import annotations

import time

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import commands


@click.command()
@click.argument("name")
@database_option
@click.pass_context
def command(context: click.Context, name: str, database: str | None) -> None:
    """End the pause of a host. Its owner's hours and own pause stand.

    \b
    Examples:
      ipmicra coordinator resume lima
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        commands.resume(connection, name, time.time())
    terminal.print_note(f"{name} will resume at its next request")
