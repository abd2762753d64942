"""`ipmicra host pause`: nothing is fetched or probed until `ipmicra host resume`."""

from __future__ import annotations

from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.host import folder as folders


@click.command()
@folder_option
@click.pass_context
def command(context: click.Context, folder: Path | None) -> None:
    """Stop work until resumed; orders of the coordinator do not change that. A running host stops within
    a second.

    \b
    Examples:
      ipmicra host pause
    """
    with folders.open_store(folder_of(terminal.settings_of(context), folder)) as store:
        store.set(paused_by_owner="yes")
    terminal.output().print("paused; continue with: ipmicra host resume")
