"""`ipmicra coordinator pause`: a host keeps its sites and rests until it is resumed."""

from __future__ import annotations

import time

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import commands


@click.command()
@click.argument("name")
@click.option("--reason", default="", help="Reason shown to the host's owner.")
@database_option
@click.pass_context
def command(context: click.Context, name: str, reason: str, database: str | None) -> None:
    """Pause a host. It keeps its sites, and continues when it is resumed.

    \b
    Examples:
      ipmicra coordinator pause lima --reason "a site complains about it"
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        commands.pause(connection, name, reason, time.time())
    terminal.print_note(f"{name} will pause at its next request")
