"""Results -> what a person sees on a terminal, or what a program reads.

Law: results go to stdout, everything else (progress, warnings, faults) to stderr, so `--json` output
can always be piped. Progress bars appear only where a person is watching.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ipmicra.settings import Knob, Settings

RELOAD = "ipmicra.reload"  # in a context's `meta`: load the settings again, from the same sources

Command = TypeVar("Command", bound=Callable[..., Any])


def output() -> Console:
    """Where results go."""
    return Console(soft_wrap=not sys.stdout.isatty(), highlight=False)


def aside() -> Console:
    """Where progress and remarks go."""
    return Console(stderr=True, highlight=False)


def complain(message: str) -> None:
    aside().print(f"[bold red]ipmicra:[/] {_escaped(message)}", soft_wrap=True)


def remark(message: str) -> None:
    aside().print(f"[dim]{_escaped(message)}[/]", soft_wrap=True)


def json_option(command: Command) -> Command:
    """Adds `--json` as the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(command)


def show(result: object, as_json: bool, render: Callable[[], RenderableType]) -> None:
    """Print `result` as JSON, or what `render` makes of it for people."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(result), indent=2))
    else:
        output().print(render())


def progress() -> Progress:
    """Bars on stderr; silent where stderr is not a terminal."""
    console = aside()
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def settings_of(context: click.Context) -> Settings:
    """The settings that `ipmicra` loaded before it called the command."""
    settings: Settings = context.obj[0]
    return settings


def reload_of(context: click.Context) -> Callable[[], Settings]:
    """Reads the settings again, for commands that run for long."""
    load: Callable[[], tuple[Settings, list[Knob]]] = context.meta[RELOAD]
    return lambda: load()[0]


def knobs_of(context: click.Context) -> list[Knob]:
    knobs: list[Knob] = context.obj[1]
    return knobs


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")
