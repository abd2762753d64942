"""`ipmicra host leave`: packages sent, the coordinator informed, everything removed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.errors import HostFault
from ipmicra.host import folder as folders
from ipmicra.host.deregistration import deregister
from ipmicra.host.store import HostStore
from ipmicra.settings import Settings

STOP_SECONDS = 60.0


@click.command()
@folder_option
@click.option("--yes", is_flag=True, help="Leave without confirmation.")
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Seconds to try to send the remaining data; 0 discards it.",
)
@click.pass_context
def command(context: click.Context, folder: Path | None, yes: bool, seconds: float) -> None:
    """Stop the host, hand over its sites, inform the coordinator, and remove all its files.

    This works also if the coordinator cannot be reached.

    \b
    Examples:
      ipmicra host leave
      ipmicra host leave --yes --seconds 0
    """
    settings = terminal.settings_of(context)
    host_folder = folder_of(settings, folder)
    with folders.open_store(host_folder) as store:
        if not yes:
            terminal.confirm(
                f"Remove {host_folder} and everything in it?", "Not left: nothing was removed."
            )
        store.set(leaving="yes")
        _wait_for_the_end(host_folder)
        with folders.hold_lock(host_folder):
            _deregister(settings, host_folder, store, seconds)
            folders.remove(host_folder)
    terminal.output().print("left; nothing is kept here any more")


def _wait_for_the_end(host_folder: Path) -> None:
    """Wait until the running host has noticed that it is to leave, and has stopped."""
    end = time.monotonic() + STOP_SECONDS
    while folders.is_running(host_folder):
        if time.monotonic() > end:
            raise HostFault(
                f"the host in {host_folder} does not stop; end its process, then leave again"
            )
        time.sleep(0.1)


def _deregister(settings: Settings, host_folder: Path, store: HostStore, seconds: float) -> None:
    trouble = asyncio.run(deregister(host_folder, settings.hosting, store, seconds))
    if trouble is not None:
        terminal.print_note(f"{trouble}; leaving anyway")
