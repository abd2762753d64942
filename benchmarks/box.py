"""Does the box keep its promises? Round trips as asked, packets per second, concurrent connections.

    python -m benchmarks box [--connections 1000] [--packets 20000]

Needs root, /dev/net/tun and iproute2. Fails where the router itself was late: then nothing was measured.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.kernel.priority import measuring
from ipmicra.lab.box.measurements.rate import carried
from ipmicra.lab.box.measurements.round_trips import RoundTripMeasurement, measure, ruler
from ipmicra.lab.box.processes.control_channel import MEASURER_PRIORITY, RouterReport
from ipmicra.lab.box.session import staged
from ipmicra.lab.box.trial.timing_check import Late

ASKED_MS = [1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 250.0, 350.0]
RATE_ROUND_TRIP_MS = 40.0
SECONDS = 3.0


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asked.add_argument("--connections", type=int, default=1_000)
    asked.add_argument("--packets", type=int, default=20_000)
    arguments = asked.parse_args()
    console = Console()
    for title, connections, pause_s in (
        ("round trips, few connections", 10 * len(ASKED_MS), 0.0),
        (f"round trips, {arguments.connections} connections at once", arguments.connections, 2.0),
    ):
        rows, report = on_time(connections, pause_s)
        console.print(accuracy_table(title, rows), lateness(report))
    console.print(rate_table(arguments.packets))


def on_time(connections: int, pause_s: float) -> tuple[list[RoundTripMeasurement], RouterReport]:
    """The first of three runs in which the router was on time."""
    for _ in range(2):
        try:
            return round_trips(connections, pause_s)
        except Late as late:
            print(late)
    return round_trips(connections, pause_s)


def round_trips(connections: int, pause_s: float) -> tuple[list[RoundTripMeasurement], RouterReport]:
    """All connections are open together: each pauses between its requests."""
    with boxed(ASKED_MS) as box:
        with measuring(MEASURER_PRIORITY):
            rows = asyncio.run(measure(box, connections // len(ASKED_MS), pause_s=pause_s))
        return rows, box.check_on_time()


@contextmanager
def boxed(asked_ms: list[float]) -> Iterator[NetworkBox]:
    with (
        tempfile.TemporaryDirectory(prefix="ipmicra-box-") as folder,
        staged(ruler(asked_ms), Path(folder)) as box,
    ):
        yield box


def accuracy_table(title: str, rows: list[RoundTripMeasurement]) -> Table:
    table = Table("asked ms", "connect", "p95", "first byte", "p95", "tcpi_rtt", "p95", title=title)
    for row in rows:
        figures = [row.connect_ms, row.connect_p95_ms, row.first_byte_ms, row.first_byte_p95_ms]
        figures += [row.kernel_ms, row.kernel_p95_ms]
        table.add_row(f"{row.asked_ms:g}", *(f"{ms:.2f}" for ms in figures))
    worst = max(row.worst_error_ms for row in rows)
    table.caption = f"worst median error {worst:.2f} ms: {'kept' if worst <= 1 else 'NOT kept'} (1 ms)"
    return table


def lateness(report: RouterReport) -> str:
    late = report.late
    return (
        f"router: {late.total} packets, p50 {late.percentile_ms(0.5):.2f} ms late, p99 "
        f"{late.percentile_ms(0.99):.2f}, greatest {late.greatest_ms:.1f}; processor {report.cpu_s:.1f} s\n"
    )


def rate_table(packets_a_second: int) -> Table:
    table = Table(
        "packets/s", "came through", "one way asked ms", "p50", "p99", title="packets per second"
    )
    for rate in (packets_a_second // 2, packets_a_second, 2 * packets_a_second):
        with boxed([RATE_ROUND_TRIP_MS]) as box:
            found = carried(box, rate, SECONDS)
        share = f"{found.received / found.sent:.2%}"
        delays = (found.asked_one_way_ms, found.one_way_ms, found.one_way_p99_ms)
        table.add_row(f"{rate:,}", share, *(f"{ms:.2f}" for ms in delays))
    return table


if __name__ == "__main__":
    main()
