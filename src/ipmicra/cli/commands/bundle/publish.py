"""`ipmicra bundle publish`: the signed repository to where the coordinator gives it out."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.cli.options.bundle_options import repository_option
from ipmicra.coordinator.bundles import rollout_orders
from ipmicra.coordinator.bundles.publishing import publish
from ipmicra.coordinator.bundles.repository import Repository
from ipmicra.coordinator.folder import bundles_folder
from ipmicra.errors import OperatorFault


@click.command()
@repository_option
@click.option("--roll-out", metavar="VERSION", help="Also begin to roll this version out to hosts.")
@click.option("--halt", metavar="VERSION", help="Stop the roll-out of this version to further hosts.")
@database_option
@terminal.json_option
@click.pass_context
def command(
    context: click.Context,
    repository: Path,
    roll_out: str | None,
    halt: str | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Publish the repository through the coordinator of this data folder.

    Hosts fetch it from there; no key is needed or copied. A roll-out begins with one host in a hundred, goes
    on to one in ten and then to all while the version stays healthy, and halts by itself when it does not.

    \b
    Examples:
      ipmicra bundle publish --repository ~/bundles
      ipmicra bundle publish --repository ~/bundles --roll-out 1.1.0
      ipmicra bundle publish --repository ~/bundles --halt 1.1.0
    """
    signed = Repository(repository)
    if roll_out is not None and roll_out not in signed.versions():
        raise OperatorFault(
            f"version {roll_out} is not signed; signed are {', '.join(signed.versions())}"
        )
    with open_database(context, database) as rows:
        files = publish(repository, bundles_folder(rows.settings.data_folder))
        with rows.database.begin() as connection:
            if halt is not None:
                rollout_orders.halt(connection, halt, "halted by the operator", time.time())
            if roll_out is not None:
                rollout_orders.begin(connection, roll_out, time.time())
    result = {"files": files, "versions": signed.versions(), "rolling_out": roll_out}
    words = f"published {files} new files; signed versions: {', '.join(signed.versions()) or 'none'}"
    terminal.show(result, as_json, lambda: Text(words))
