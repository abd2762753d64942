"""The program itself -> its reference pages: a mkdocs hook.

`<!-- commands -->` in a page becomes the help text of every command, `<!-- settings -->` the table of
every setting. What is written by the program cannot fall behind it.
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from ipmicra.cli.main import program
from ipmicra.settings import load_settings


def on_page_markdown(markdown: str, **_: object) -> str:
    """Called by mkdocs for each page."""
    if "<!-- commands -->" in markdown:
        markdown = markdown.replace("<!-- commands -->", "\n".join(command_sections()))
    if "<!-- settings -->" in markdown:
        markdown = markdown.replace("<!-- settings -->", "\n".join(settings_rows()))
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
    for knob in load_settings(None, {})[1]:
        yield f"| `{knob.name}` | `{knob.default}` | {knob.description} |"
