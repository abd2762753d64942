"""A command's settings -> the coordinator's database, opened for as long as the command needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click
import msgspec

from ipmicra.cli import terminal
from ipmicra.coordinator.folder import database_address
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def database_option(command: Command) -> Command:
    """Adds `--database` as the parameter `database`."""
    return click.option(
        "--database",
        metavar="ADDRESS",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; default: SQLite in the data folder.",
    )(command)


def settings_with(context: click.Context, database: str | None) -> Settings:
    """The settings, with the database that the command line names."""
    settings = terminal.settings_of(context)
    if not database:
        return settings
    coordinator = msgspec.structs.replace(settings.coordinator, database=database)
    return msgspec.structs.replace(settings, coordinator=coordinator)


@dataclass(frozen=True)
class OpenCoordinatorDatabase:
    settings: Settings
    database: Database


@contextmanager
def open_database(context: click.Context, database: str | None) -> Iterator[OpenCoordinatorDatabase]:
    """The rows of a coordinator that was begun before; none is made here."""
    settings = settings_with(context, database)
    opened = Database(
        database_address(settings.coordinator.database, settings.data_folder), create=False
    )
    try:
        yield OpenCoordinatorDatabase(settings, opened)
    finally:
        opened.close()
