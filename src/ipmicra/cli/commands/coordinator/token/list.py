"""`ipmicra coordinator token list`: the tokens, without the tokens themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin.api_tokens import ApiToken, listed_tokens


@click.command()
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, database: str | None, as_json: bool) -> None:
    """List the tokens: what each allows, until when, and when it was last used.

    \b
    Examples:
      ipmicra coordinator token list
      ipmicra coordinator token list --json
    """
    now_s = time.time()
    with open_database(context, database) as rows, rows.database.read() as connection:
        tokens = listed_tokens(connection)
    result = [{**token._asdict(), "state": token.state(now_s)} for token in tokens]
    terminal.show(result, as_json, lambda: _table(tokens, now_s))


def _table(tokens: list[ApiToken], now_s: float) -> Table:
    table = Table("name", "state", "scopes", "created", "expires", "last used")
    for token in tokens:
        dates = (_date(token.made_s), _date(token.until_s), _date(token.used_s))
        table.add_row(token.name, token.state(now_s), ", ".join(token.scopes), *dates)
    return table


def _date(at_s: float | None) -> str:
    return "never" if at_s is None else f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"
