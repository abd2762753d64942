"""`ipmicra coordinator purge`: a crawler that lied, and everything it brought, out of the index."""

from __future__ import annotations

import time

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.ingest import purge


@click.command()
@click.argument("crawler")
@click.option("--why", default="by the operator", help="Reason, recorded with the event.")
@click.option("--yes", is_flag=True, help="Without asking.")
@database_option
@click.pass_context
def command(context: click.Context, crawler: str, why: str, yes: bool, database: str | None) -> None:
    """Revoke a host and remove every page of its crawler from the index.

    Its key becomes invalid at once, its sites go to others, and its waiting packages are refused. The pages
    leave the index within seconds while the coordinator runs; other crawlers fetch them again.

    \b
    Examples:
      ipmicra coordinator purge lima --why "its pages differ from everyone else's"
    """
    if not yes:
        question = f"Take everything that {crawler} brought out of the index?"
        terminal.confirm(question, "Cancelled: nothing was changed.")
    with open_database(context, database) as rows, rows.database.begin() as connection:
        waiting = purge.request_purge(connection, crawler, why, time.time())
    terminal.print_note(
        f"{crawler} is revoked; {waiting} waiting packages are refused; its pages are taken out"
    )
