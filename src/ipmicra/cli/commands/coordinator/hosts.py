"""`ipmicra coordinator hosts`: every host and how it is."""

from __future__ import annotations

import time

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.views.status import host_statuses
from ipmicra.protocol.coordinator_api import HostStatus


@click.command()
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, database: str | None, as_json: bool) -> None:
    """List the hosts: registered, enrolled, present, awake, revoked.

    \b
    Examples:
      ipmicra coordinator hosts
      ipmicra coordinator hosts --json
    """
    now_s = time.time()
    with open_database(context, database) as rows, rows.database.read() as connection:
        found = host_statuses(connection, now_s)
    terminal.show(found, as_json, lambda: _table(found, now_s))


def _now(host: HostStatus) -> str:
    if not host.present:
        return "absent"
    return "awake" if host.awake else f"asleep: {host.resting}" if host.resting else "asleep"


def _table(found: list[HostStatus], now_s: float) -> Table:
    table = Table("host", "state", "now", "address", "heard", "sites")
    for host in found:
        now = _now(host)
        heard = "never" if host.heard_s is None else f"{now_s - host.heard_s:.0f} s ago"
        table.add_row(host.name, host.state, now, host.address, heard, str(host.sites))
    return table
