"""`ipmicra overlay submit`: a site for the network, by way of any peer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.overlay_peer import checked, point_of, point_option, site_named
from ipmicra.overlay.live import rpc_client
from ipmicra.overlay.live.network_file import read_network_file
from ipmicra.protocol.overlay_frames import FrameCodec


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("via", metavar="ADDRESS")
@click.argument("site")
@point_option
def command(network: Path, via: str, site: str, point: str | None) -> None:
    """Give a site to any peer; it is routed to the peer whose zone holds its point.

    Without a point some peers time the site, and their round trips place it.

    \b
    Examples:
      ipmicra overlay submit net.json 192.0.2.9:7400 example.org
      ipmicra overlay submit net.json 192.0.2.9:7400 https://example.org --point 12,-5,2
    """
    shared, place = read_network_file(network), point_of(point)
    if place is not None:
        checked(place, shared)
    named = site_named(site)
    asyncio.run(rpc_client.submit(named, place, shared.space, via, FrameCodec(shared.secret.encode())))
    terminal.print_note(f"{named} is home")
