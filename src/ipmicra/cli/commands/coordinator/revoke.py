"""`ipmicra coordinator revoke`: refuse all requests of a host from now on."""

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
    """Revoke a host: its key becomes invalid at once and its sites go to others.

    \b
    Examples:
      ipmicra coordinator revoke lima
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        commands.revoke(connection, name, time.time())
    terminal.print_note(f"{name} is revoked")
