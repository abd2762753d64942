"""`ipmicra host status`: what the host on this machine is doing, and by which rules."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
from rich.table import Table

from ipmicra.carrier.package import packages_in
from ipmicra.cli import terminal
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.host import folder as folders
from ipmicra.host.hosted.in_process import SPOOL_FOLDER
from ipmicra.host.hosted.interface import STATE_FOLDER
from ipmicra.host.limits.usage import UsageMeter
from ipmicra.host.settings import describe_rules
from ipmicra.host.store import HostStore
from ipmicra.settings import Settings


class HostStatusReport(msgspec.Struct, frozen=True):
    """The output of `--json`."""

    host: str
    coordinator: str
    running: bool
    resting: str | None  # why; None: working, or not running
    heard_seconds_ago: float | None
    line: str  # "well", or why the coordinator cannot be reached
    sites: int
    pages: int
    pending: int
    packages_to_send: int
    bytes_today: int
    bytes_this_month: int
    disk_bytes: int
    rules: dict[str, str]


@click.command()
@folder_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, folder: Path | None, as_json: bool) -> None:
    """Show what the host is doing now, what it has used, and its rules.

    \b
    Examples:
      ipmicra host status
      ipmicra host status --json
    """
    settings = terminal.settings_of(context)
    host_folder = folder_of(settings, folder)
    with folders.open_store(host_folder) as store:
        status = _status(settings, host_folder, store)
    terminal.show(status, as_json, lambda: _table(status))


def _status(settings: Settings, host_folder: Path, store: HostStore) -> HostStatusReport:
    facts, member = store.facts(), folders.membership(store)
    running = folders.is_running(host_folder)
    today, month = UsageMeter(store, settings.host, lambda: datetime.now(UTC)).used_bytes()
    heard = facts.get("heard_s")
    rest = "paused by its owner" if "paused_by_owner" in facts else facts.get("resting")
    return HostStatusReport(
        host=member.host,
        coordinator=member.coordinator,
        running=running,
        resting=rest,
        heard_seconds_ago=None if heard is None else round(time.time() - float(heard), 1),
        line=facts.get("line", "not tried yet"),
        sites=int(facts.get("sites", 0)),
        pages=int(facts.get("pages", 0)),
        pending=int(facts.get("pending", 0)),
        packages_to_send=len(packages_in(host_folder / STATE_FOLDER / SPOOL_FOLDER)),
        bytes_today=today,
        bytes_this_month=month,
        disk_bytes=folders.disk_bytes(host_folder),
        rules=describe_rules(settings.host),
    )


def _table(status: HostStatusReport) -> Table:
    table = Table(title=f"host {status.host} of {status.coordinator}", show_header=False)
    works = "works" if status.resting is None else f"rests: {status.resting}"
    table.add_row("now", works if status.running else "not running")
    heard = status.heard_seconds_ago
    table.add_row(
        "coordinator", "no response yet" if heard is None else f"last response {heard:,.0f} s ago"
    )
    table.add_row("line", status.line)
    table.add_row("sites, pages", f"{status.sites:,}, {status.pages:,} ({status.pending:,} to fetch)")
    table.add_row("packages to send", f"{status.packages_to_send:,}")
    used = f"{status.bytes_today:,} today, {status.bytes_this_month:,} this month"
    table.add_row("bytes", used)
    table.add_row("disk", f"{status.disk_bytes:,} bytes", end_section=True)
    for rule, words in status.rules.items():
        table.add_row(rule, words)
    return table
