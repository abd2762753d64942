"""`ipmicra coordinator move`: a crawler goes to another host with everything it knows."""

from __future__ import annotations

import time

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import commands


@click.command()
@click.argument("name")
@click.argument("target")
@database_option
@click.pass_context
def command(context: click.Context, name: str, target: str, database: str | None) -> None:
    """Move the crawler of one host to another, named host, with all it knows.

    Its subnets and sites go to TARGET with frontier, validators, change history and politeness clocks:
    nothing is fetched again and nothing is lost. The host NAME is left empty and gets nothing new until it
    is resumed; sites that its owner asked for stay there. `ipmicra coordinator crawlers` shows how far it is.

    \b
    Examples:
      ipmicra coordinator move lima oslo
      ipmicra coordinator resume lima
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        commands.move(connection, name, target, time.time())
    terminal.print_note(f"{name} moves to {target} as soon as the coordinator runs")
