"""The options that all `ipmicra host` commands share: the host's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ipmicra.host.folder import FOLDER
from ipmicra.settings import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def folder_option(command: Command) -> Command:
    """Adds `--folder` as the parameter `folder`."""
    return click.option(
        "--folder",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the host's data (default: 'host' in the data folder).",
    )(command)


def folder_of(settings: Settings, folder: Path | None) -> Path:
    return (folder or settings.data_folder / FOLDER).absolute()
