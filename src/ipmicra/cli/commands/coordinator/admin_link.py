"""`ipmicra coordinator admin-link`: one person may sign in, once, with the link that is printed."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.admin.public_address import public_address
from ipmicra.web.login import link_to


@click.command()
@click.option(
    "--address",
    metavar="URL",
    help="Where the coordinator's pages are, as your browser sees them; by default coordinator.address, or "
    "where it was last run.",
)
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, address: str | None, database: str | None, as_json: bool) -> None:
    """Print a one-time link with which to sign in and administer. It works for an hour.

    \b
    Examples:
      ipmicra coordinator admin-link
      ipmicra coordinator admin-link --address https://crawl.example.org
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        token = sessions.create_link(connection, time.time())
        address = address or public_address(connection, rows.settings.coordinator.address)
    link = link_to(address, token)
    terminal.show({"link": link}, as_json, lambda: Text(link))
