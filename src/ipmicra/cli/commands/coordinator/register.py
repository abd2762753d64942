"""`ipmicra coordinator register`: a machine may join, once, with the token that is printed."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import commands


@click.command()
@click.argument("name")
@click.option("--contact", default="", help="Whom to turn to about the machine.")
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context, name: str, contact: str, database: str | None, as_json: bool
) -> None:
    """Register a host and print its join token. The token works once; only its digest is kept.

    \b
    Examples:
      ipmicra coordinator register lima --contact owner@example.org
      ipmicra coordinator register lima --json | jq -r .token
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        seconds = rows.settings.coordinator.token_hours * 3600
        token = commands.register(connection, name, time.time(), seconds, contact)
    result = {"host": name, "token": token}
    terminal.show(result, as_json, lambda: Text(token))
    if not as_json:
        terminal.print_note(f"on the machine: ipmicra host join http://COORDINATOR:8790 {token}")
