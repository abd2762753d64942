"""`ipmicra coordinator restore`: a coordinator from a backup."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, settings_with
from ipmicra.coordinator.backup.location import fetched
from ipmicra.coordinator.backup.restore import SETTINGS_FILE, restore
from ipmicra.coordinator.folder import database_address, make_data_folder, package_store
from ipmicra.coordinator.store.sql.database import Database


@click.command()
@click.argument("file", metavar="FILE|s3://BUCKET/NAME")
@click.option(
    "--planned",
    is_flag=True,
    help="The coordinator was stopped before the backup and has not run since: hosts keep their sites.",
)
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context, file: str, planned: bool, database: str | None, as_json: bool
) -> None:
    """Restore a backup into an empty data folder or database. The kind of database may be another one.

    Hosts go on without joining again, as soon as the coordinator answers at the address that they know. Since
    hosts have worked on after the backup, every site is given again, so that no two hosts crawl the same one;
    with --planned they keep what they have. The search index is made again when the coordinator starts.

    \b
    Examples:
      ipmicra coordinator restore /backup/ipmicra-monday.tar
      ipmicra coordinator restore s3://backups/monday.tar --database postgresql://ipmicra@db.example.org/ipmicra
      ipmicra coordinator restore /backup/before-the-move.tar --planned
    """
    settings = settings_with(context, database)
    make_data_folder(settings.data_folder)
    opened = Database.empty(database_address(settings.coordinator.database, settings.data_folder))
    try:
        with fetched(file) as source:
            store = package_store(settings.coordinator.packages, settings.data_folder)
            manifest = restore(
                source, opened, store, settings.data_folder, time.time(), keeps_leases=planned
            )
    finally:
        opened.close()
    summary = f"restored {sum(manifest.rows.values()):,} rows and {manifest.packages:,} packages"
    terminal.show(manifest, as_json, lambda: Text(summary))
    terminal.print_note(
        f"the settings of then are in {settings.data_folder / SETTINGS_FILE}; start it with: ipmicra "
        "coordinator run"
    )
