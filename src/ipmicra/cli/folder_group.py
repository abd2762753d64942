"""A package of command modules -> a click group that imports a module only when it is called.

Law: listing commands reads file names; only `--help` of a group and the command itself import code, so
`ipmicra --version` stays instant however many rooms there are. The package's docstring is the help.
"""

from __future__ import annotations

import importlib
import pkgutil
from difflib import get_close_matches

import click


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

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        for module in pkgutil.iter_modules(self._package.__path__):
            if _command_name(module.name) == name:
                path = f"{self._package.__name__}.{module.name}"
                return FolderGroup(path, name=name) if module.ispkg else _command_in(path)
        return None


def _command_name(module_name: str) -> str:
    return module_name.strip("_").replace("_", "-")


def _command_in(module_path: str) -> click.Command:
    command = importlib.import_module(module_path).command
    assert isinstance(command, click.Command), f"{module_path} holds no click command `command`"
    return command
