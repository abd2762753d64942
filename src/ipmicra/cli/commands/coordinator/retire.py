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
    """Retire a host in good order: it hands its sites over with their state, sends its packages, and
    stops. To end a host at once, use `ipmicra coordinator revoke`.

    \b
    Examples:
      ipmicra coordinator retire lima --reason "the study is over, thank you"
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        commands.retire(connection, name, reason, time.time())
    terminal.print_note(f"{name} will retire at its next request")
