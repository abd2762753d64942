"""`ipmicra coordinator backup`: one file from which the coordinator can be begun again."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.cli.display.settings_text import settings_text
from ipmicra.coordinator.backup.archive_writer import Backup
from ipmicra.coordinator.backup.location import written
from ipmicra.coordinator.backup.manifest import BackupManifest
from ipmicra.coordinator.folder import package_store, packages_folder
from ipmicra.errors import HostFault


@click.command()
@click.argument("file", metavar="FILE|s3://BUCKET/NAME")
@click.option(
    "--packages",
    type=click.Choice(["copy", "reference"]),
    default="copy",
    show_default=True,
    help="Whether the packages' bytes go into the file, or only their names.",
)
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context, file: str, packages: str, database: str | None, as_json: bool
) -> None:
    """Back up the coordinator, running or not: database, packages, bundles, tree and settings.

    Everything acknowledged before it began is in it. The search index is left out: it is made again from
    the packages. With `--packages reference` the packages must be kept by other means; they never change,
    so a copy of their folder or bucket that is updated from time to time is enough. The file has digests
    of tokens and passphrases in it: only its owner may read it.

    \b
    Examples:
      ipmicra coordinator backup /backup/ipmicra-monday.tar
      ipmicra coordinator backup s3://backups/ipmicra-monday.tar
      ipmicra coordinator backup /backup/rows.tar --packages reference
    """
    now_s = time.time()
    with (
        open_database(context, database) as rows,
        written(file) as target,
        terminal.progress() as progress,
    ):
        task = progress.add_task("packages", total=None)
        coordinator, data_folder = rows.settings.coordinator, rows.settings.data_folder
        manifest = Backup(
            rows.database,
            package_store(coordinator.packages, data_folder),
            data_folder,
            coordinator.packages or str(packages_folder(data_folder)),
            settings_text(terminal.settings_rows(context)),
            copies=packages == "copy",
            advance=lambda done, total: progress.update(task, completed=done, total=total),
        ).make(target, now_s)
    terminal.show(manifest, as_json, lambda: _shown(manifest, file))
    if manifest.missing:
        raise HostFault(
            f"the backup is complete, but {len(manifest.missing)} packages had been lost before, such as "
            f"{manifest.missing[0][:12]}"
        )


def _shown(manifest: BackupManifest, file: str) -> Text:
    rows = sum(manifest.rows.values())
    copied = (
        f", {manifest.package_bytes / 1e6:,.1f} MB" if manifest.packages_copied else ", by reference"
    )
    return Text(f"{file}: {rows:,} rows, {manifest.packages:,} packages{copied}")
