"""`ipmicra coordinator submit`: pages to crawl."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin.submission import submit


@click.command()
@click.argument("urls", nargs=-1, required=True)
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, urls: tuple[str, ...], database: str | None, as_json: bool) -> None:
    """Submit pages; the nearest crawler fetches each of them.

    \b
    Examples:
      ipmicra coordinator submit https://example.org/ https://example.net/docs/
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        submitted, new = submit(connection, urls, time.time())
    result = {"submitted": submitted, "new": new}
    terminal.show(result, as_json, lambda: Text(f"{submitted} submitted, {new} of them new"))
