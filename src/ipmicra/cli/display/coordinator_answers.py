"""`nearest` and `explain`: the same answer from a coordinator over HTTP, or from its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def coordinator_option(command: Command) -> Command:
    """Adds `--coordinator` as the parameter `coordinator`."""
    return click.option(
        "--coordinator",
        metavar="URL",
        default="http://127.0.0.1:8790",
        show_default=True,
        help="URL of the coordinator.",
    )(command)
