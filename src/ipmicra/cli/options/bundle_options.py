"""Options that the commands about bundles share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def keys_option(command: Command) -> Command:
    """Adds `--keys` as the parameter `keys`."""
    return click.option(
        "--keys",
        type=click.Path(path_type=Path, file_okay=False),
        required=True,
        help="The folder of private keys. Keep root keys elsewhere once they have signed.",
    )(command)


def repository_option(command: Command) -> Command:
    """Adds `--repository` as the parameter `repository`."""
    return click.option(
        "--repository",
        type=click.Path(path_type=Path, file_okay=False),
        required=True,
        help="The folder of signed bundles.",
    )(command)
