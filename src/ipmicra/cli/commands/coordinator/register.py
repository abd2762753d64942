"""`ipmicra coordinator register`: a machine may join, once, with the token that is printed."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import commands
from ipmicra.coordinator.admin.public_address import public_address


@click.command()
@click.argument("name")
@click.option("--contact", default="", help="Contact for questions about the machine.")
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context, name: str, contact: str, database: str | None, as_json: bool
) -> None:
    """Register a host and print its join token. The token works once; only its digest is stored.

    \b
    Examples:
      ipmicra coordinator register lima --contact owner@example.org
      ipmicra coordinator register lima --json | jq -r .token
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        seconds = rows.settings.coordinator.token_hours * 3600
        token = commands.register(connection, name, time.time(), seconds, contact)
        address = public_address(connection, rows.settings.coordinator.address)
    result = {"host": name, "token": token, "coordinator": address}
    terminal.show(result, as_json, lambda: Text(token))
    if not as_json:
        terminal.print_note(f"on the machine: ipmicra host join {address} {token}")
        if not address.startswith("https://"):
            terminal.print_note(
                "hosts on other machines need TLS: set coordinator.address to the https:// address at which "
                "they reach this coordinator"
            )
