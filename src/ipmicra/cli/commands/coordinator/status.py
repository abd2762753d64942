"""`ipmicra coordinator status`: how things stand."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click
from rich.console import Group
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.views.status import coordinator_status
from ipmicra.protocol.coordinator_api import CoordinatorStatus


@click.command()
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, database: str | None, as_json: bool) -> None:
    """Show hosts, sites, orders and packages in numbers, and what happened last.

    \b
    Examples:
      ipmicra coordinator status
      ipmicra coordinator status --json
    """
    with open_database(context, database) as rows, rows.database.read() as connection:
        found = coordinator_status(connection, time.time())
    terminal.show(found, as_json, lambda: _shown(found))


def _shown(found: CoordinatorStatus) -> Group:
    numbers = Table("what", "state", "number")
    present = sum(host.present for host in found.hosts)
    awake = sum(host.awake for host in found.hosts)
    numbers.add_row("hosts", "registered", str(len(found.hosts)))
    numbers.add_row("hosts", "present", str(present))
    numbers.add_row("hosts", "awake", str(awake))
    tables = {"sites": found.sites, "open orders": found.open_orders, "packages": found.packages}
    for what, counts in tables.items():
        for state, count in counts.items():
            numbers.add_row(what, state, str(count))
    happened = Table("when (UTC)", "what", "whom", "detail")
    for event in found.events:
        at = datetime.fromtimestamp(event.at_s, tz=UTC)
        happened.add_row(f"{at:%Y-%m-%d %H:%M:%S}", event.kind, event.subject, event.detail)
    return Group(numbers, happened)
