"""`ipmicra host resume`: the end of a pause."""

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
    """Work again after a pause, within the hours.

    \b
    Examples:
      ipmicra host resume
    """
    with folders.open_store(folder_of(terminal.settings_of(context), folder)) as store:
        store.set(paused_by_owner=None)
    terminal.output().print("resumed")
