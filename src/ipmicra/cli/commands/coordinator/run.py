"""`ipmicra coordinator run`: the service itself."""

from __future__ import annotations

import logging
import os
import sys

import click
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.cli.coordinator_database import database_option, settings_with
from ipmicra.cli.options.listen_option import LISTEN, address_to_call, parse_listen
from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.admin.public_address import remember_address
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.api.logs import log_to_stderr
from ipmicra.coordinator.api.server import run
from ipmicra.search.factory import INDEX_FOLDER
from ipmicra.web.login import link_to
from ipmicra.web.routes import Pages

_log = logging.getLogger("ipmicra.coordinator")


@click.command()
@click.option(
    "--listen",
    default=LISTEN,
    show_default=True,
    metavar="ADDRESS:PORT",
    help="Address and port to listen on.",
)
@database_option
@click.pass_context
def command(context: click.Context, listen: str, database: str | None) -> None:
    """Run the coordinator until SIGTERM or Ctrl-C.

    State and packages are kept in the data folder. With PostgreSQL any number of these may run behind a
    load balancer; one of them is the leader. Put a TLS proxy in front before hosts join over the Internet.

    \b
    Examples:
      ipmicra coordinator run
      ipmicra coordinator run --listen 0.0.0.0:8790
      ipmicra coordinator run --database postgresql://ipmicra@db.example.org/ipmicra
    """
    os.umask(0o077)  # rows, packages and index are the operator's alone
    address, port = parse_listen(listen)
    log_to_stderr()
    settings = settings_with(context, database)
    run(
        settings.service,
        address,
        port,
        lambda context: _announce(_public(settings.coordinator.address, listen), context),
        lambda context: Pages(context, settings.data_folder / INDEX_FOLDER),
    )


def _announce(address: str, context: CoordinatorContext) -> None:
    """On the very first start, the way in: to people on stdout, not into the log."""
    with context.database.begin() as connection:
        remember_address(connection, address, context.clock())
        token = sessions.create_first_link(connection, context.clock())
    if token is not None:
        terminal.output().print(
            Text(f"Administer at {link_to(address, token)} (works once, for an hour)")
        )
    if sys.stderr.isatty():
        terminal.print_note(f"the coordinator is at {address}/ until Ctrl-C")
    else:
        _log.info("the coordinator answers", extra={"address": f"{address}/"})


def _public(configured: str, listen: str) -> str:
    """The address that people and hosts use."""
    return configured.rstrip("/") or address_to_call(listen)
