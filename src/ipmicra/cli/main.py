"""Arguments -> a command run, and its outcome -> an exit code.

Exit codes: 0 done; 1 our defect; 2 wrong usage; 3 the operator's input or settings are wrong; 4 a remote
server failed; 5 this machine lacks or forbids something; 6 a person answered no, nothing was done; 130
interrupted by Ctrl-C.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ipmicra import __version__
from ipmicra.cli import terminal
from ipmicra.cli.extras import extra_missing
from ipmicra.cli.folder_group import FolderGroup
from ipmicra.cli.terminal import RELOAD, SETTINGS_FAULT
from ipmicra.errors import Fault, HostFault

if TYPE_CHECKING:
    from ipmicra.settings import SettingInfo, Settings

INTERRUPTED = 130
DECLINED = 6
HELP = "ipmicra.help"  # in a context's `meta`: whether help is asked for
_CALLED = "ipmicra.called"  # in a context's `meta`: the name of the command
DIAGNOSES = ("doctor",)  # run even where the settings cannot be read, and say why


def load_settings(file: Path | None, overrides: tuple[str, ...]) -> tuple[Settings, list[SettingInfo]]:
    """Settings from all sources; their modules are loaded when they are needed."""
    from ipmicra import settings

    return settings.load_settings(file=file, overrides=overrides)


class RootCommand(FolderGroup):
    """The whole `ipmicra` command: global options first, then the command's own."""

    def __init__(self) -> None:
        super().__init__(
            "ipmicra.cli.commands",
            name="ipmicra",
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
            params=[
                click.Option(
                    ["--settings", "settings_file"],
                    type=click.Path(path_type=Path, dir_okay=False),
                    help="Settings file (default: $IPMICRA_SETTINGS, ./ipmicra.toml, ~/.config/, /etc/).",
                ),
                click.Option(
                    ["--set", "overrides"],
                    multiple=True,
                    metavar="TABLE.KEY=VALUE",
                    help="Override one setting; may be repeated.",
                ),
            ],
        )
        click.version_option(__version__, "-V", "--version")(self)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta[HELP] = any(word in ("-h", "--help") for word in args)
        words = list(args)
        rest = super().parse_args(context, args)
        context.meta[_CALLED] = words[-len(rest) - 1] if words else ""
        return rest

    def invoke(self, context: click.Context) -> object:
        file: Path | None = context.params.pop("settings_file")
        overrides: tuple[str, ...] = context.params.pop("overrides")
        if file is not None and not file.is_file():
            raise click.BadParameter(f"no such file: {file}", param_hint="--settings")
        if not context.meta[HELP]:  # help needs no settings, nor what they take to load
            try:
                context.obj = load_settings(file=file, overrides=overrides)
            except Fault as fault:
                if context.meta[_CALLED] not in DIAGNOSES:
                    raise
                context.meta[SETTINGS_FAULT] = fault
        context.meta[RELOAD] = partial(load_settings, file=file, overrides=overrides)
        return super().invoke(context)


program = RootCommand()


def main() -> None:
    """The entry point of the `ipmicra` script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; faults become a message on stderr and an exit code."""
    try:
        outcome = program.main(arguments, prog_name="ipmicra", standalone_mode=False)
    except click.ClickException as wrong_usage:
        wrong_usage.show()
        return wrong_usage.exit_code
    except (click.Abort, KeyboardInterrupt):
        terminal.print_error("interrupted")
        return INTERRUPTED
    except terminal.Declined as declined:
        terminal.print_note(str(declined))
        return DECLINED
    except Fault as fault:
        terminal.print_error(str(fault))
        return fault.exit_code
    except ModuleNotFoundError as missing:
        advice = extra_missing(" ".join(arguments), missing)
        if advice is missing:
            raise
        terminal.print_error(str(advice))
        return HostFault.exit_code
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    return outcome if isinstance(outcome, int) else 0
