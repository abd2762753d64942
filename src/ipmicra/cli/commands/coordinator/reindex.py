"""`ipmicra coordinator reindex`: the search index made again from the packages."""

from __future__ import annotations

import time

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.folder import package_store
from ipmicra.coordinator.ingest.reindex import Rebuilt, Reindexer
from ipmicra.errors import HostFault
from ipmicra.search.factory import INDEX_FOLDER


@click.command()
@click.option(
    "--reason", default="by the operator", help="Shown while it is made, and kept in the events."
)
@database_option
@terminal.json_option
@click.pass_context
def command(context: click.Context, reason: str, database: str | None, as_json: bool) -> None:
    """Make the search index again from the packages, beside the one in use.

    The coordinator may run at the same time: it continues to receive packages and to answer from the old
    index until the new one is complete and replaces it. Run it on the machine whose data folder has the
    index.

    \b
    Examples:
      ipmicra coordinator reindex
      ipmicra coordinator reindex --reason "the disk was replaced" --json
    """
    with open_database(context, database) as rows, terminal.progress() as progress:
        task = progress.add_task("integrating packages", total=None)
        rebuilt = Reindexer(
            rows.database,
            package_store(rows.settings.coordinator.packages, rows.settings.data_folder),
            rows.settings.data_folder / INDEX_FOLDER,
            time.time,
            advance=lambda done, total: progress.update(task, completed=done, total=total),
        ).run(reason)
    assert rebuilt is not None, "nobody stops it"
    terminal.show(rebuilt._asdict(), as_json, lambda: _shown(rebuilt))
    if rebuilt.missing:
        raise HostFault(
            f"{len(rebuilt.missing)} packages are lost or damaged and are not in the new index: "
            f"{'; '.join(rebuilt.missing[:5])}. Restore them from a backup and run this again"
        )


def _shown(rebuilt: Rebuilt) -> Text:
    return Text(f"{rebuilt.packages:,} packages, {rebuilt.pages:,} pages can be found")
