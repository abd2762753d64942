"""`ipmicra coordinator verify`: whether a backup can be restored."""

from __future__ import annotations

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.coordinator.backup.location import fetched
from ipmicra.coordinator.backup.restore import verify
from ipmicra.coordinator.folder import package_store


@click.command()
@click.argument("file", metavar="FILE|s3://BUCKET/NAME")
@terminal.json_option
@click.pass_context
def command(context: click.Context, file: str, as_json: bool) -> None:
    """Read a whole backup and check every row file and every package in it.

    Packages that the backup only names are looked for in coordinator.packages, or in the data folder.

    \b
    Examples:
      ipmicra coordinator verify /backup/ipmicra-monday.tar
      ipmicra coordinator verify s3://backups/monday.tar --json
    """
    settings = terminal.settings_of(context)
    with fetched(file) as source:
        manifest = verify(
            source, lambda: package_store(settings.coordinator.packages, settings.data_folder)
        )
    kept = "in it" if manifest.packages_copied else f"in {manifest.packages_at}"
    summary = f"whole: {sum(manifest.rows.values()):,} rows, {manifest.packages:,} packages {kept}"
    terminal.show(manifest, as_json, lambda: Text(summary))
