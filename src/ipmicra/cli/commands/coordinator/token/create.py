"""`ipmicra coordinator token create`: a new token, printed once."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin.api_tokens import DAYS_MAX, TokenScope, create_token


@click.command()
@click.argument("name")
@click.option(
    "--days",
    type=click.IntRange(1, DAYS_MAX),
    default=90,
    show_default=True,
    help="Number of days after which the token expires.",
)
@click.option("--never-expires", is_flag=True, help="The token stays valid until you revoke it.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in TokenScope]),
    default=[scope.value for scope in TokenScope],
    show_default=True,
    help="What the token allows: read what only operators see, or submit pages. May be repeated.",
)
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    name: str,
    days: int,
    never_expires: bool,
    scopes: tuple[str, ...],
    database: str | None,
    as_json: bool,
) -> None:
    """Create a token and print it. It is not shown again; only its digest is stored.

    \b
    Examples:
      ipmicra coordinator token create importer > importer.token
      ipmicra coordinator token create importer --days 7 --scope submit
    """
    granted = [TokenScope(scope) for scope in scopes]
    valid_days = None if never_expires else days
    with open_database(context, database) as rows, rows.database.begin() as connection:
        token = create_token(connection, name, granted, valid_days, time.time())
    result = {"name": name, "token": token, "scopes": sorted(granted), "days": valid_days}
    terminal.show(result, as_json, lambda: Text(token))
