"""`ipmicra coordinator work`: integrate packages in a separate process."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time

import click

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, open_database
from ipmicra.coordinator.api.logs import log_to_stderr
from ipmicra.coordinator.folder import package_store
from ipmicra.coordinator.ingest.reindex import note_damage
from ipmicra.coordinator.ingest.worker import IntegrationWorker
from ipmicra.model.struct_types import build_struct_types
from ipmicra.search.factory import INDEX_FOLDER
from ipmicra.search.recovery import open_or_set_aside


@click.command()
@database_option
@click.pass_context
def command(context: click.Context, database: str | None) -> None:
    """Integrate packages until SIGTERM or Ctrl-C, for a coordinator that does not do it itself.

    For a coordinator that is busy, or whose index lies on another machine: run that one with
    coordinator.integrates = false. The index has one writer, so one worker a data folder.

    \b
    Examples:
      ipmicra coordinator work
      ipmicra coordinator work --database postgresql://ipmicra@db.example.org/ipmicra
    """
    log_to_stderr()
    build_struct_types()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    with open_database(context, database) as rows:
        settings = rows.settings
        index_folder = settings.data_folder / INDEX_FOLDER
        damage = open_or_set_aside(index_folder)
        if damage is not None:
            note_damage(rows.database, damage, time.time())
        IntegrationWorker(
            rows.database,
            package_store(settings.coordinator.packages, settings.data_folder),
            index_folder,
            f"{socket.gethostname()}-{os.getpid()}",
            settings.coordinator,
        ).run(stop)
    terminal.print_note("stopped")
