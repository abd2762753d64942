"""`ipmicra coordinator retire`: a host hands everything over and ends."""

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
    """End a host in good order: it hands its sites over with all that is known of them, sends what it
    has, and stops. To end one at once, whatever it says, use `ipmicra coordinator revoke`.

    \b
    Examples:
      ipmicra coordinator retire lima --reason "the study is over, thank you"
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        commands.retire(connection, name, reason, time.time())
    terminal.print_note(f"{name} is told to retire when it next asks")
