"""What stands in deploy/ starts commands that exist, as nobody special."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from ipmicra.cli.main import program

DEPLOY = Path(__file__).parents[2] / "deploy"


def command_named(words: list[str]) -> click.Command:
    found: click.Command = program
    for word in words:
        assert isinstance(found, click.Group)
        below = found.get_command(click.Context(found), word)
        assert below is not None, f"there is no command {word}"
        found = below
    return found


def test_the_service_runs_the_host_without_privileges() -> None:
    unit = (DEPLOY / "ipmicra-host.service").read_text(encoding="utf-8")
    (line,) = re.findall(r"(?m)^ExecStart=(.*)$", unit)
    _, option, file, *words = shlex.split(line)
    assert (option, file) == ("--settings", "/etc/ipmicra/ipmicra.toml")
    assert command_named(words).name == "command"
    assert words == ["host", "run"]
    for wanted in (
        "User=ipmicra",
        "NoNewPrivileges=yes",
        "CapabilityBoundingSet=\n",
        "ProtectSystem=strict",
    ):
        assert wanted in unit


def test_the_container_runs_the_host_as_a_user_of_its_own() -> None:
    made = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    assert 'ENTRYPOINT ["ipmicra"]' in made
    (words,) = re.findall(r'(?m)^CMD \["(.*)"\]$', made)
    assert command_named(words.split('", "')).help
    assert re.findall(r"(?m)^USER (.*)$", made) == ["ipmicra"]
    for source in re.findall(r"(?m)^COPY (?!--from)(.*) \S+$", made):
        for name in source.split():
            assert (DEPLOY.parent / name).exists(), name
