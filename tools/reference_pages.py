"""The program itself -> its reference pages: a mkdocs hook.

`<!-- commands -->` in a page becomes the help text of every command, `<!-- settings -->` the table of
every setting, `<!-- metrics -->` and `<!-- events -->` those of metrics and of kinds of events. What is
written by the program cannot fall behind it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import click
from prometheus_client.parser import text_string_to_metric_families

from ipmicra.cli.main import program
from ipmicra.coordinator.api.metrics import RowMetrics, metrics_text
from ipmicra.coordinator.store.events import MEANINGS
from ipmicra.coordinator.store.sql.database import Database
from ipmicra.settings import load_settings


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by mkdocs for each page."""
    for name, lines in GENERATED.items():
        marker = f"<!-- {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, "\n".join(lines()))
    return markdown


def command_sections() -> Iterator[str]:
    """A heading and the help text for each command, groups before their members."""
    waiting: list[tuple[str, click.Command]] = [("ipmicra", program)]
    while waiting:
        name, command = waiting.pop(0)
        context = click.Context(command, info_name=name, max_content_width=100)
        yield f"## `{name}`\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            waiting = _members(name, command, context) + waiting


def _members(name: str, group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    found = ((member, group.get_command(context, member)) for member in group.list_commands(context))
    return [(f"{name} {member}", command) for member, command in found if command is not None]


def settings_rows() -> Iterator[str]:
    """A Markdown table: name, default, what it is."""
    yield "| setting | default | what it is |\n|---|---|---|"
    for row in load_settings(None, {})[1]:
        yield f"| `{row.name}` | `{row.default}` | {row.description} |"


def metrics_rows() -> Iterator[str]:
    """A Markdown table: name, type, what it is; as a coordinator without hosts answers `/metrics`."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Database(f"sqlite:///{Path(folder) / 'rows.sqlite'}")) as database,
    ):
        text = metrics_text(RowMetrics(database), time.time(), leads=True, polls=0, index=(0, 0))
    yield "| metric | type | what it is |\n|---|---|---|"
    families = text_string_to_metric_families(text.decode())
    for family in sorted(families, key=lambda family: family.name):
        suffix = "_total" if family.type == "counter" else ""
        if family.name.startswith("ipmicra_") and not family.name.endswith("_created"):
            yield f"| `{family.name}{suffix}` | {family.type} | {family.documentation} |"


def events_rows() -> Iterator[str]:
    """A Markdown table: the kind of an event, and when it is recorded."""
    yield "| kind | what happened |\n|---|---|"
    for kind, meaning in MEANINGS.items():
        yield f"| `{kind}` | {meaning} |"


GENERATED: Mapping[str, Callable[[], Iterator[str]]] = {
    "commands": command_sections,
    "settings": settings_rows,
    "metrics": metrics_rows,
    "events": events_rows,
}
