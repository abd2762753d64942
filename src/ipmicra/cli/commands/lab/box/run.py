"""`ipmicra lab box run`: the box of a world file, open while a command runs in it, or until Ctrl-C."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.errors import OperatorFault
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.kernel.namespace import Namespace
from ipmicra.lab.box.processes.control_channel import RouterReport
from ipmicra.lab.box.session import staged
from ipmicra.lab.box.world.box_world import COORDINATOR
from ipmicra.lab.box.world.world_file import read_world

FOREVER_S = 10.0**9


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("world", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("line", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--crawler",
    default="",
    metavar="NAME",
    help="Whose namespace the command runs in; `coordinator` is one too. Default: the first crawler's.",
)
@click.option("--seconds", type=click.FloatRange(0), help="Without a command: close after this time.")
@terminal.json_option
def command(
    world: Path, line: tuple[str, ...], crawler: str, seconds: float | None, as_json: bool
) -> int:
    """Open the box of a world file, serve its sites, and run a command inside.

    Sites answer on port 80; the name server is at `names_address` of the world file. Faults count from the
    moment the box is open. At the end the router reports its traffic and its delays.

    \b
    Examples:
      ipmicra lab box run /tmp/world/world.toml -- ip route
      ipmicra lab box run /tmp/world/world.toml --crawler crawler-01 -- bash
      ipmicra lab box run /tmp/world/world.toml --seconds 10 --json
    """
    found = read_world(world)
    with (
        tempfile.TemporaryDirectory(prefix="ipmicra-box-") as folder,
        staged(found, Path(folder)) as box,
    ):
        terminal.print_note(
            f"the box of {found.file.name} is open: {len(found.file.sites)} sites are served"
        )
        code = _run(_where(box, crawler), line, seconds)
        report = box.report()
    terminal.show(report, as_json, lambda: _table(report))
    return code


def _where(box: NetworkBox, name: str) -> Namespace:
    names = [crawler.name for crawler in box.world.file.crawlers]
    if name == COORDINATOR:
        return box.coordinator
    if name and name not in names:
        raise OperatorFault(f"--crawler {name!r}: there are {', '.join(names)} and {COORDINATOR}")
    return box.crawler(name or names[0])


def _run(where: Namespace, line: tuple[str, ...], seconds: float | None) -> int:
    if line:
        return where.start(line, stdin=None, own_session=False).wait()
    terminal.print_note("Ctrl-C closes it")
    time.sleep(FOREVER_S if seconds is None else seconds)
    return 0


def _table(report: RouterReport) -> Table:
    late = report.late
    table = Table("the router", "", show_header=False)
    table.add_row("packets carried", f"{report.packets:,}")
    table.add_row("dropped", ", ".join(f"{n} {why}" for why, n in report.dropped.items() if n) or "none")
    table.add_row("late, 99 in 100 below", f"{late.percentile_ms(0.99):.2f} ms")
    table.add_row("late, the greatest", f"{late.greatest_ms:.2f} ms")
    table.add_row("in real time", "yes" if report.real_time else "no: SCHED_FIFO was refused")
    return table
