"""`ipmicra host log`: every address that the host contacted, by day, and what happened."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Group
from rich.table import Column, Table

from ipmicra.cli import terminal
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.host import folder as folders
from ipmicra.host.store import Contact, HostEvent


@click.command()
@folder_option
@click.option(
    "--since",
    type=click.DateTime(formats=["%Y-%m-%d"]),
    metavar="DAY",
    help="First day to show, such as 2026-11-16.",
)
@click.option(
    "--events",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Number of recent events to show.",
)
@terminal.json_option
@click.pass_context
def command(
    context: click.Context, folder: Path | None, since: datetime | None, events: int, as_json: bool
) -> None:
    """Show every address contacted, with bytes in and out, by day; and recent events.

    Name servers that were asked for addresses are not listed. Bytes sent to sites are estimated from the
    requests; all others are counted.

    \b
    Examples:
      ipmicra host log
      ipmicra host log --since 2026-11-16 --json
    """
    with folders.open_store(folder_of(terminal.settings_of(context), folder)) as store:
        contacts, happened = store.contacts(f"{since:%Y-%m-%d}" if since else ""), store.events(events)
    log = {
        "contacts": [contact._asdict() for contact in contacts],
        "events": [event._asdict() for event in happened],
    }
    terminal.show(log, as_json, lambda: Group(_contacts(contacts), _events(happened)))


def _contacts(contacts: list[Contact]) -> Table:
    folded = (Column(name, overflow="fold") for name in ("site", "address"))
    table = Table("day", "for", *folded, "times", "bytes in", "bytes out")
    for seen in contacts:
        counts = (f"{count:,}" for count in (seen.contacts, seen.bytes_in, seen.bytes_out))
        table.add_row(seen.day, seen.purpose, seen.site, seen.address, *counts)
    return table


def _events(events: list[HostEvent]) -> Table:
    table = Table("when (UTC)", "what")
    for event in events:
        table.add_row(f"{datetime.fromtimestamp(event.at_s, UTC):%Y-%m-%d %H:%M:%S}", event.what)
    return table
