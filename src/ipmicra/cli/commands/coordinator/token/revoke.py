"""`ipmicra coordinator token revoke`: a token is no longer valid."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin.api_tokens import revoke_token


@click.command()
@click.argument("name")
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, name: str, database: str | None, as_json: bool) -> None:
    """Revoke a token. The next request with it is refused.

    \b
    Examples:
      ipmicra coordinator token revoke importer
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        revoke_token(connection, name, time.time())
    terminal.show({"revoked": name}, as_json, lambda: Text(f"{name} is revoked"))
