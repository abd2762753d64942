"""`ipmicra demo`: the whole life of the system in a generated Internet, and what nearness was worth."""

from __future__ import annotations

import asyncio
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click
from rich.console import Group
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from ipmicra.cli import terminal
from ipmicra.errors import HostFault
from ipmicra.lab.demo.config import DemoConfig
from ipmicra.lab.demo.processes import DemoProcesses
from ipmicra.lab.demo.scenario import DemoScenario, DemoSummary

PORTS_FROM = 8780


@click.command()
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Random seed; another seed gives another world.",
)
@click.option(
    "--seconds", type=float, help="Seconds to keep running after the scenario (default: until Ctrl-C)."
)
@click.option("--no-wait", is_flag=True, help="Stop after the scenario.")
@terminal.json_option
def command(seed: int, seconds: float | None, no_wait: bool, as_json: bool) -> None:
    """Show the whole life of the system in a generated Internet on this machine, in about a minute.

    A coordinator, four hosts and some dozens of sites in twelve cities, all of them real processes and
    real HTTP on loopback addresses; round trips go by distance. Hosts join, sites are delegated to the
    nearest one, crawled, brought home and indexed; then other ways to share the work are tried on the same
    sites. Everything lives in a temporary folder that is removed at the end.

    \b
    Examples:
      ipmicra demo                       stays up until Ctrl-C, to be looked at in a browser
      ipmicra demo --no-wait             ends after the story
      ipmicra demo --no-wait --json      for programs
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # taken down in order, as by Ctrl-C
    with tempfile.TemporaryDirectory(prefix="ipmicra-demo-") as folder:
        town = _town(seed, Path(folder))
        with DemoProcesses(town) as stage:
            with terminal.progress() as progress:
                summary = asyncio.run(DemoScenario(town, stage, _Bars(progress)).play())
            terminal.show(summary, as_json, lambda: _shown(summary))
            if not no_wait:
                _stay_up(town, stage, seconds)


def _town(seed: int, folder: Path) -> DemoConfig:
    coordinator_port, web_port, names_port = (
        _free_port(PORTS_FROM + 100 * number) for number in range(3)
    )
    return DemoConfig(seed, folder, web_port, names_port, coordinator_port)


class _Bars:
    """A bar for each part of the story."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def begin(self, words: str, steps: int) -> Callable[[int, str], object]:
        task = self._progress.add_task(words, total=steps)
        if self._progress.disable:
            terminal.print_note(words)

        def on_progress(done: int, doing: str) -> None:
            self._progress.update(task, completed=done, description=doing or words)

        return on_progress


def _shown(summary: DemoSummary) -> Group:
    hosts = ", ".join(f"{name} {sites}" for name, sites in sorted(summary.sites_by_host.items()))
    share = summary.html_bytes / max(summary.bytes_home, 1)
    words = (
        f"\n{summary.pages} pages of {summary.sites} sites crawled and indexed in {summary.seconds:.0f} s, "
        f"all start-up included.\nSites by host: {hosts}.\n{summary.bytes_home:,} bytes came home for "
        f"{summary.html_bytes:,} bytes of HTML: 1/{share:.0f}.\n"
    )
    table = Table(title="The same sites, shared out in other ways")
    table.add_column("delegated by", no_wrap=True)
    for heading in ("crawl time", "in sum", "round trip", "nearest", "probes per site"):
        table.add_column(heading, justify="right")
    for row in summary.results:
        table.add_row(
            row.strategy,
            f"{row.crawl_s:.1f} s",
            f"{row.total_s:.1f} s",
            f"{row.round_trip_ms_mean:.0f} ms",
            f"{row.nearest_share:.0%}",
            f"{row.probes_per_site:.2f}",
        )
    return Group(Text(words), table)


def _stay_up(town: DemoConfig, stage: DemoProcesses, seconds: float | None) -> None:
    address = town.coordinator
    link = stage.command("home", "coordinator", "admin-link", "--address", address).strip()
    aside = terminal.stderr_console()
    try:
        aside.print(
            f"\nstill running: the dashboard at {address}/ and the search page at {address}/search"
        )
        aside.print(f"to administer: {link}")
        aside.print(
            f"in another terminal: ipmicra explain {town.front_pages()[0]} --coordinator {address}"
        )
        aside.print("Ctrl-C ends it all" if seconds is None else f"for {seconds:g} s, or until Ctrl-C")
        time.sleep(10**9 if seconds is None else seconds)
    except KeyboardInterrupt:
        terminal.print_note("the demo is taken down")


def _free_port(first: int) -> int:
    """A port that is free on all addresses, since the sites have many."""
    for port in range(first, first + 100):
        with socket.socket() as sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            try:
                sock.bind(("", port))
                datagrams.bind(("", port))
            except OSError:
                continue
            return port
    raise HostFault(f"no free port from {first} to {first + 99}; stop what uses them")
