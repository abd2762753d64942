"""A package of command modules -> a click group that imports a module only when it is called.

Invariant: listing commands, and the help of a group, read files and import none of them; only the command
itself imports code. So `ipmicra --help` stays instant, and works without the extras that a command needs. The
package's docstring is the help.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from difflib import get_close_matches
from pathlib import Path

import click

from ipmicra.cli.extras import extra_missing


class FolderGroup(click.Group):
    """The commands found in one package: modules are commands, packages are groups."""

    def __init__(self, package: str, name: str | None = None, **attributes: object) -> None:
        self._package = importlib.import_module(package)
        super().__init__(name=name, help=self._package.__doc__, **attributes)  # type: ignore[arg-type]  # click's own

    def list_commands(self, context: click.Context) -> list[str]:
        found = pkgutil.iter_modules(self._package.__path__)
        return sorted(_command_name(module.name) for module in found)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as unknown:
            near = get_close_matches(arguments[0], self.list_commands(context), n=1)
            if not near:
                raise
            raise click.UsageError(f"{unknown.message} Did you mean {near[0]!r}?", context) from None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """The first sentence of each, as click would show it."""
        names = self.list_commands(context)
        width = formatter.width - 6 - max((len(name) for name in names), default=0)
        rows = [
            (name, click.Command(name, help=self._help_of(name)).get_short_help_str(width))
            for name in names
        ]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def _help_of(self, name: str) -> str:
        """The command's docstring, read without importing it."""
        for module in pkgutil.iter_modules(self._package.__path__):
            if _command_name(module.name) == name:
                place = Path(self._package.__path__[0]) / module.name
                file = place / "__init__.py" if module.ispkg else place.with_suffix(".py")
                return _docstring(ast.parse(file.read_bytes()), module.ispkg)
        return ""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for module in pkgutil.iter_modules(self._package.__path__):
            if _command_name(module.name) == name:
                path = f"{self._package.__name__}.{module.name}"
                return FolderGroup(path, name=name) if module.ispkg else _command_in(path)
        return None


def _docstring(tree: ast.Module, is_group: bool) -> str:
    if is_group:
        return ast.get_docstring(tree) or ""
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next((ast.get_docstring(node) or "" for node in functions if node.name == "command"), "")


def _command_name(module_name: str) -> str:
    return module_name.strip("_").replace("_", "-")


def _command_in(module_path: str) -> click.Command:
    try:
        command = importlib.import_module(module_path).command
    except ModuleNotFoundError as missing:
        raise extra_missing(module_path, missing) from missing
    assert isinstance(command, click.Command), f"{module_path} holds no click command `command`"
    return command
