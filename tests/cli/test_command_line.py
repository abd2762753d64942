"""The command line: found by folder, taught by --help, and exit codes that mean something."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from ipmicra import __version__
from ipmicra.cli import main as command_line
from ipmicra.errors import Fault, HostFault, OperatorFault, OurFault, SiteFault


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups included."""
    waiting: list[tuple[str, click.Command]] = [("ipmicra", command_line.program)]
    while waiting:
        name, command = waiting.pop()
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for child in command.list_commands(context):
                found = command.get_command(context, child)
                assert found is not None
                waiting.append((f"{name} {child}", found))


COMMANDS = dict(all_commands())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_help_teaches_by_example(name: str) -> None:
    text = COMMANDS[name].help or ""
    assert re.search(r"(?m)^\s*ipmicra \S", text), f"{name} --help shows no example"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_says_what_it_does(name: str) -> None:
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[-1]} has no help"


def test_a_module_run_is_the_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "ipmicra", "settings", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "general.data_folder" in [knob["name"] for knob in json.loads(result.stdout)]


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["settings"], 0),
        (["no-such-command"], 2),
        (["settings", "--no-such-option"], 2),
        (["--settings", "/no/such/file", "settings"], 2),
        (["--set", "general.no_such=1", "settings"], 3),
    ],
)
def test_exit_codes(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.run(arguments) == code
    assert bool(capsys.readouterr().err) == (code != 0)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (OurFault("x"), 1),
        (OperatorFault("x"), 3),
        (SiteFault("x"), 4),
        (HostFault("x"), 5),
        (KeyboardInterrupt(), 130),
    ],
)
def test_a_fault_becomes_a_message_and_a_code(
    fault: Fault, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(command_line, "load_settings", fail)
    assert command_line.run(["settings"]) == code
    assert "ipmicra:" in capsys.readouterr().err
