"""`ipmicra overlay status`: what one peer knows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.overlay.live.asking import status_of
from ipmicra.overlay.live.frames import Seal
from ipmicra.overlay.live.network_file import read
from ipmicra.overlay.live.spoken import Status


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("address")
@terminal.json_option
def command(network: Path, address: str, as_json: bool) -> None:
    """Ask a peer for its zones, its neighbours and its sites.

    \b
    Examples:
      ipmicra overlay status net.json 192.0.2.1:7400
      ipmicra overlay status net.json 192.0.2.1:7400 --json
    """
    found = asyncio.run(status_of(address, Seal(read(network).secret.encode())))
    terminal.show(found, as_json, lambda: _table(found))


def _table(found: Status) -> Table:
    table = Table("what", "value", show_header=False)
    table.add_row("peer", f"{found.card.peer} at {found.card.address}")
    table.add_row("point", ", ".join(f"{x:g}" for x in found.card.point))
    share = sum(zone.volume for zone in found.card.zones) / found.space.volume
    table.add_row("zones", f"{len(found.card.zones)}, {share:.1%} of the space")
    table.add_row("neighbours", ", ".join(card.peer for card in found.neighbours) or "none")
    table.add_row("home to", ", ".join(found.homed) or "no site")
    table.add_row("to crawl", ", ".join(found.crawled) or "no site")
    table.add_row("letters lost", str(found.letters_lost))
    return table
