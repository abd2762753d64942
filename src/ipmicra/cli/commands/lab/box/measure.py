"""`ipmicra lab box measure`: round trips that were asked against those that TCP sees."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.lab.box.kernel.priority import measuring
from ipmicra.lab.box.measurements.round_trips import RoundTripMeasurement, measure, ruler
from ipmicra.lab.box.processes.control_channel import MEASURER_PRIORITY
from ipmicra.lab.box.session import staged

ASKED_MS = (1.0, 10.0, 40.0, 150.0, 350.0)


@click.command()
@click.option(
    "--connections",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of connections of each crawler.",
)
@terminal.json_option
def command(connections: int, as_json: bool) -> None:
    """Measure what the box does with packets, and fail where its router was late.

    One crawler at each of five round trips from a site: the time to connect, to the first byte, and the
    kernel's own round trip (TCP_INFO), medians and 95th percentiles in ms.

    \b
    Examples:
      ipmicra lab box measure
      ipmicra lab box measure --connections 100 --json
    """
    with (
        tempfile.TemporaryDirectory(prefix="ipmicra-box-") as folder,
        staged(ruler(ASKED_MS), Path(folder)) as box,
    ):
        with measuring(MEASURER_PRIORITY):
            rows = asyncio.run(measure(box, connections))
        report = box.check_on_time()
    terminal.print_note(f"the router carried {report.late.total} packets on time")
    terminal.show([row._asdict() for row in rows], as_json, lambda: _table(rows))


def _table(rows: list[RoundTripMeasurement]) -> Table:
    table = Table("asked ms", "connections", "connect", "p95", "first byte", "p95", "kernel", "p95")
    for row in rows:
        asked, count, *figures = row
        table.add_row(f"{asked:g}", str(count), *(f"{ms:.2f}" for ms in figures))
    return table
