"""`ipmicra lab web`: a generated web on loopback, to crawl without load on real sites."""

from __future__ import annotations

import asyncio

import click
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.lab.loopback.layout import WebLayout
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb


@click.command()
@click.option(
    "--sites", type=click.IntRange(1, 240), default=12, show_default=True, help="Number of sites."
)
@click.option(
    "--pages", type=click.IntRange(1), default=40, show_default=True, help="Pages of each site."
)
@click.option(
    "--port",
    type=click.IntRange(1024, 65535),
    default=8080,
    show_default=True,
    help="TCP port of the sites.",
)
@click.option(
    "--names-port",
    type=click.IntRange(1024, 65535),
    default=8053,
    show_default=True,
    help="UDP port of the name server.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Random seed; another seed gives other pages."
)
@click.option(
    "--seconds", type=click.FloatRange(0), help="Stop after this number of seconds instead of at Ctrl-C."
)
@terminal.json_option
def command(
    sites: int, pages: int, port: int, names_port: int, seed: int, seconds: float | None, as_json: bool
) -> None:
    """Serve a generated web on loopback addresses until Ctrl-C.

    The sites are in twelve cities and have names, pages, links and robots.txt. A name server resolves
    their names. A request from a city's address is answered with that city's delay.

    \b
    Examples:
      ipmicra lab web
      ipmicra lab web --sites 24 --pages 200 --seed 7
      ipmicra --set 'fetching.dns_servers=["127.0.0.1:8053"]' \\
        crawl http://bakery0.lima.example:8080/ --allow-range 127.0.0.0/8
    """
    layout = WebLayout.of(made_sites(seed, sites, pages, port))
    rows = [
        {"site": f"http://{site.name}:{port}/", "city": site.city, "address": str(address)}
        for address, site in layout.sites.items()
    ]
    terminal.show(rows, as_json, lambda: _table(rows))
    terminal.print_note(f"names are served on 127.0.0.1:{names_port}; Ctrl-C ends")
    asyncio.run(_serve(LoopbackWeb(layout.sites, port, layout.round_trip_ms, names_port), seconds))


async def _serve(web: LoopbackWeb, seconds: float | None) -> None:
    async with web:
        await asyncio.sleep(seconds if seconds is not None else 10**9)


def _table(rows: list[dict[str, str]]) -> Table:
    table = Table("site", "city", "address")
    for row in rows:
        table.add_row(row["site"], row["city"], row["address"])
    return table
