"""`ipmicra coordinator status`: how things stand."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click
from rich.console import Group
from rich.table import Table
from sqlalchemy import Connection, select

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.ingest.index_state import index_state
from ipmicra.coordinator.store.sql.schema import leader_table
from ipmicra.coordinator.views.alerts import alert_list
from ipmicra.coordinator.views.status import coordinator_status
from ipmicra.protocol.coordinator_api import CoordinatorStatus

ALERTS_SHOWN = 5


@click.command()
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, database: str | None, as_json: bool) -> None:
    """Show whether it runs, what is wrong, the numbers of hosts, sites, orders and packages, and events.

    \b
    Examples:
      ipmicra coordinator status
      ipmicra coordinator status --json
    """
    with open_database(context, database) as rows, rows.database.read() as connection:
        now_s = time.time()
        found = coordinator_status(connection, now_s)
        health = _health(connection, now_s)
    terminal.show(found, as_json, lambda: Group(health, _shown(found)))


def _health(connection: Connection, now_s: float) -> Table:
    """By the leader's lease, which a running coordinator renews all the time."""
    table = Table(show_header=False)
    lease = connection.execute(select(leader_table.c.holder, leader_table.c.until_s)).first()
    if lease is None:
        table.add_row("running", "no: it was never run")
    elif lease.until_s > now_s:
        table.add_row("running", f"yes, led by {lease.holder}")
    else:
        table.add_row("running", "no: start it with `ipmicra coordinator run`")
    table.add_row("index", index_state(connection).in_words())
    found = alert_list(connection, now_s).troubles
    for alert in found[:ALERTS_SHOWN]:
        table.add_row("wrong", f"{alert.count:,} x {alert.what}")
    if not found:
        table.add_row("wrong", "nothing")
    return table


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
