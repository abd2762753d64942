"""`ipmicra host join`: a token -> a host with its own key; nothing runs yet."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
from rich.table import Table

from ipmicra.carrier.durable import make_folder
from ipmicra.cli import terminal
from ipmicra.cli.options.host_options import folder_of, folder_option
from ipmicra.errors import HostFault, OperatorFault
from ipmicra.host import folder as folders
from ipmicra.host.coordinator_client import checked_coordinator, enrol
from ipmicra.host.identity import make_key
from ipmicra.host.settings import checked, describe_maximum_usage, describe_rules
from ipmicra.host.store import HostStore
from ipmicra.settings import Settings

WHAT_IT_DOES = """\
This machine will fetch public web pages for {coordinator} and send them there, by these rules, which only
you can change (the table [host] of your settings file):
"""
WHAT_IT_DOES_NOT = """\
It opens no port, reaches nothing in your own network, and keeps everything in
  {folder}
The crawler runs in a sandbox where this machine can make one; `ipmicra host check` says what would hold it.
Sites that it visits see your address. `ipmicra host log` shows every address it contacted, `ipmicra host
pause` stops it, `ipmicra host leave` removes it without a trace.
"""


@click.command()
@click.argument("coordinator")
@click.argument("token")
@folder_option
@click.option("--yes", is_flag=True, help="Join without confirmation.")
@click.pass_context
def command(
    context: click.Context, coordinator: str, token: str, folder: Path | None, yes: bool
) -> None:
    """Join a coordinator with the TOKEN that its operator gave you.

    Explains before it joins what it will do and what it may cost. The host creates its own key, which
    never leaves this machine. Nothing runs before `ipmicra host run`.

    \b
    Examples:
      ipmicra host join https://coordinator.example 4f0c...
      ipmicra host join https://coordinator.example 4f0c... --yes
      ipmicra --set 'host.hours="mon-fri 22:00-06:00"' host join https://coordinator.example 4f0c...
    """
    settings = terminal.settings_of(context)
    checked(settings.host)
    coordinator = checked_coordinator(coordinator)
    host_folder = folder_of(settings, folder)
    if folders.is_joined(host_folder):
        raise OperatorFault(
            f"a host has joined in {host_folder} already; leave first, or give a --folder"
        )
    _explain(settings, coordinator, host_folder)
    if not yes:
        terminal.confirm("Join?", "Not joined: nothing was kept here.")
    name = _join(host_folder, coordinator, token)
    terminal.output().print(f"joined as {name}; now run: ipmicra host run")


def _explain(settings: Settings, coordinator: str, host_folder: Path) -> None:
    table = Table(show_header=False)
    for rule, words in describe_rules(settings.host).items():
        table.add_row(rule, words)
    aside = terminal.stderr_console()
    aside.print(WHAT_IT_DOES.format(coordinator=coordinator), markup=False)
    aside.print(table)
    aside.print("The most that this can cost you:", markup=False)
    cost = Table(show_header=False)
    for what, words in describe_maximum_usage(settings.host).items():
        cost.add_row(what, words)
    aside.print(cost)
    aside.print(WHAT_IT_DOES_NOT.format(folder=host_folder), markup=False)


def _join(host_folder: Path, coordinator: str, token: str) -> str:
    """If joining fails, nothing of it stays on the machine."""
    is_new = not host_folder.exists()
    try:
        make_folder(host_folder, mode=0o700)
    except OSError as error:
        raise HostFault(
            f"making the host's folder {host_folder}: {error}; give another --folder"
        ) from error
    if not is_new and any(host_folder.iterdir()):
        raise OperatorFault(f"{host_folder} is not empty; give another --folder")
    try:
        key = make_key(host_folder)
        enrolled = asyncio.run(enrol(coordinator, token, key.public_key().public_bytes_raw()))
        store = HostStore(host_folder)
        try:
            store.set(coordinator=coordinator, host=enrolled.host, contact=enrolled.contact)
            store.log_event(f"joined {coordinator} as {enrolled.host}")
        finally:
            store.close()
    except BaseException:
        folders.remove(host_folder)
        raise
    return enrolled.host
