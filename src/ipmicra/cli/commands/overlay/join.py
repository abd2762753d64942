"""`ipmicra overlay join`: one more peer."""

from __future__ import annotations

import secrets
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.overlay_peer import (
    PeerSummary,
    folder_option,
    listen_option,
    point_of,
    point_option,
    serve,
)
from ipmicra.errors import OperatorFault
from ipmicra.overlay.live.network_file import read_network_file


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("via", metavar="ADDRESS")
@listen_option
@click.option(
    "--unreachable", is_flag=True, help="Other peers cannot connect to this machine: use a relay."
)
@point_option
@folder_option
@click.pass_context
def command(
    context: click.Context,
    network: Path,
    via: str,
    listen: str | None,
    unreachable: bool,
    point: str | None,
    folder: Path | None,
) -> None:
    """Join a network through any of its peers, and take part until Ctrl-C.

    The peer crawls the sites that fall to it, keeps copies for others, and answers searches. Ctrl-C leaves
    in order: zone and sites go to others first. A peer that is killed instead is taken over by its
    neighbours. Behind NAT or a firewall, `--unreachable` takes part through a peer that can be reached, and
    through another when that is gone. Without a point the machine times connections to peers and finds its
    place among them.

    \b
    Examples:
      ipmicra overlay join net.json 192.0.2.1:7400 --listen 192.0.2.9:7400
      ipmicra overlay join net.json 192.0.2.1:7400 --listen 192.0.2.9:7400 --point -80,3,11
      ipmicra overlay join net.json 192.0.2.1:7400 --unreachable
    """
    if (listen is None) != unreachable:
        raise OperatorFault(
            "either --listen ADDRESS:PORT, where others reach this peer, or --unreachable"
        )
    name = listen or f"peer-{secrets.token_hex(6)}"
    terminal.print_note(f"joining through {via} as {name}")
    standing = PeerSummary(name, listen or "", point_of(point), via)
    serve(read_network_file(network), standing, context, folder)
