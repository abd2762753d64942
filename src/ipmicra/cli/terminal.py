"""Results -> text on a terminal for people, or JSON for programs.

Invariant: results go to stdout, everything else (progress, warnings, faults) to stderr, so `--json`
output can always be piped. Progress bars appear only where a person is watching. The code that draws
tables and bars is loaded when needed: loading it takes longer than most commands.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress

    from ipmicra.errors import Fault
    from ipmicra.settings import SettingInfo, Settings

PIPED_COLUMNS = 1_000
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
RELOAD = "ipmicra.reload"  # in a context's `meta`: load the settings again, from the same sources
SETTINGS_FAULT = "ipmicra.settings_fault"  # in a context's `meta`: why the settings cannot be read

Command = TypeVar("Command", bound=Callable[..., Any])


def output() -> Console:
    """Where results go."""
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False)
    return Console(
        width=PIPED_COLUMNS, soft_wrap=True, highlight=False
    )  # a program reads it: nothing is cut


def stderr_console() -> Console:
    """Where progress goes, and remarks with some layout."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_error(message: str) -> None:
    click.echo(f"{click.style('ipmicra:', fg='red', bold=True)} {strip_control(message)}", err=True)


def print_note(message: str) -> None:
    click.secho(strip_control(message), dim=True, err=True)


class Declined(Exception):
    """A person answered no. The message says what was therefore not done."""


def confirm(question: str, otherwise: str) -> None:
    """Go on after a yes; after a no nothing is done, and `otherwise` says so."""
    if not click.confirm(question, err=True):
        raise Declined(otherwise)


def json_option(command: Command) -> Command:
    """Adds `--json` as the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def show(result: object, as_json: bool, render: Callable[[], RenderableType]) -> None:
    """Print `result` as JSON, or what `render` makes of it for people."""
    if as_json:
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2))
    else:
        output().print(render())


def progress() -> Progress:
    """Bars on stderr; silent where stderr is not a terminal."""
    from rich import progress as bars

    console = stderr_console()
    return bars.Progress(
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def settings_of(context: click.Context) -> Settings:
    """The settings that `ipmicra` loaded before it called the command."""
    settings: Settings = context.obj[0]
    return settings


def settings_fault_of(context: click.Context) -> Fault | None:
    """The reason why settings could not be read, for a command that runs without them; None if they
    could.
    """
    return context.meta.get(SETTINGS_FAULT)


def reload_of(context: click.Context) -> Callable[[], Settings]:
    """Reads the settings again, for commands that run for long."""
    load: Callable[[], tuple[Settings, list[SettingInfo]]] = context.meta[RELOAD]
    return lambda: load()[0]


def settings_rows(context: click.Context) -> list[SettingInfo]:
    rows: list[SettingInfo] = context.obj[1]
    return rows


def strip_control(text: str) -> str:
    """Text that sites wrote, without what a terminal would take for a command."""
    return _CONTROLS.sub("\ufffd", text)
