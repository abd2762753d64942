"""`ipmicra coordinator upgrade`: one crawler gets a published version of its code."""

from __future__ import annotations

import time

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.admin import commands
from ipmicra.coordinator.bundles.publishing import published_versions
from ipmicra.coordinator.folder import bundles_folder


@click.command()
@click.argument("name")
@click.argument("version")
@database_option
@click.pass_context
def command(context: click.Context, name: str, version: str, database: str | None) -> None:
    """Give one crawler a published version of its code now, independent of any roll-out.

    The host fetches and verifies it, tries it, and rolls back what does not prove healthy. To give a version
    to everyone in stages, use `ipmicra bundle publish --roll-out`.

    \b
    Examples:
      ipmicra coordinator upgrade lima 1.1.0
    """
    with open_database(context, database) as rows, rows.database.begin() as connection:
        published = published_versions(bundles_folder(rows.settings.data_folder))
        commands.upgrade(connection, name, version, published, time.time())
    terminal.print_note(f"{name} will change to version {version} at its next request")
