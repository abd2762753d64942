"""`ipmicra coordinator crawlers`: the state that each crawler's life is in, and what it has to do."""

from __future__ import annotations

import time

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin.crawler_states import ENDED
from ipmicra.coordinator.views.crawlers import CrawlerStatus, crawlers


@click.command()
@click.option("--ended", is_flag=True, help="Include crawlers that have ended.")
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, ended: bool, database: str | None, as_json: bool) -> None:
    """List the crawlers: state, since when, code, host's address, sites and loads.

    The commands pause, resume, upgrade, move, retire and revoke control them; the last column lists those
    that are allowed now.

    \b
    Examples:
      ipmicra coordinator crawlers
      ipmicra coordinator crawlers --ended --json
    """
    now_s = time.time()
    with open_database(context, database) as rows, rows.database.read() as connection:
        found = [c for c in crawlers(connection, now_s) if ended or c.state not in ENDED]
    terminal.show(found, as_json, lambda: _table(found, now_s))


def _table(found: list[CrawlerStatus], now_s: float) -> Table:
    heads = (
        "crawler",
        "state",
        "since",
        "code",
        "at",
        "sites",
        "pages",
        "bytes today",
        "commands",
    )
    table = Table(*heads)
    for crawler in found:
        to = f" to {crawler.moves_to}" if crawler.moves_to else ""
        since = "" if crawler.since_s is None else f"{now_s - crawler.since_s:.0f} s"
        trial = f", tries {crawler.trial}" if crawler.trial else ""
        table.add_row(
            crawler.name,
            f"{crawler.state}{to}",
            since,
            f"{crawler.code or 'installed'}{trial}",
            crawler.address,
            str(crawler.sites),
            *(str(crawler.report.get(key, 0)) for key in ("pages", "bytes_today")),
            ", ".join(crawler.commands),
        )
    return table
