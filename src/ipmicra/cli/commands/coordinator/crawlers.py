"""`ipmicra coordinator crawlers`: what the crawlers that are present have to do."""

from __future__ import annotations

import time

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_rows import database_option, opened_rows
from ipmicra.coordinator.standing import HostStanding, hosts_standing


@click.command()
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, database: str | None, as_json: bool) -> None:
    """List the crawlers that are present, with their sites, pages and loads.

    \b
    Examples:
      ipmicra coordinator crawlers
      ipmicra coordinator crawlers --json
    """
    with opened_rows(context, database) as rows, rows.database.read() as connection:
        found = [host for host in hosts_standing(connection, time.time()) if host.present]
    terminal.show(found, as_json, lambda: _table(found))


def _table(found: list[HostStanding]) -> Table:
    table = Table("crawler", "awake", "sites", "pages", "bytes today", "of a day's", "packages to send")
    for host in found:
        said = [host.report.get(key, 0) for key in ("pages", "bytes_today", "capacity_bytes_a_day")]
        waiting = host.report.get("spooled_packages", 0)
        table.add_row(
            host.name,
            "yes" if host.awake else "no",
            str(host.sites),
            *(str(value) for value in said),
            str(waiting),
        )
    return table
