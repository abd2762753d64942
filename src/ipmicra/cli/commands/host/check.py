"""`ipmicra host check`: which sandbox guards work on this machine."""

from __future__ import annotations

import asyncio

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.host.sandbox.guards import selftest
from ipmicra.host.sandbox.guards.selftest import SandboxGuard


@click.command()
@terminal.json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> int:
    """Test in a sandbox the guards that restrict code sent by a coordinator.

    Each guard is held or missing. If a required one is missing, dispatched code is refused on this
    machine, and the exit code is 1. The owner may waive one: host.guards_done_without = ["filter"].

    \b
    Examples:
      ipmicra host check
      ipmicra host check --json
    """
    tried = asyncio.run(selftest.run_selftest())
    lacking = selftest.missing_guards(tried, terminal.settings_of(context).host.guards_done_without)
    terminal.show([guard._asdict() for guard in tried], as_json, lambda: _table(tried))
    if lacking:
        names = ", ".join(guard.name for guard in lacking)
        terminal.print_note(f"missing: {names}; code that a coordinator sends is refused here")
    return 1 if lacking else 0


def _table(tried: list[SandboxGuard]) -> Table:
    table = Table("guard", "", "what it restricts", "why not")
    for guard in tried:
        held = "held" if guard.held else "missing" if guard.needed else "missing, not needed"
        table.add_row(guard.name, held, guard.what, guard.detail)
    return table
