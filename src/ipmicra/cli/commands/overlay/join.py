"""`ipmicra overlay join`: one more peer."""

from __future__ import annotations

from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.overlay_peer import listen_option, point_of, point_option, served
from ipmicra.overlay.live.network_file import read


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("via", metavar="ADDRESS")
@listen_option
@point_option
def command(network: Path, via: str, listen: str, point: str) -> None:
    """Join a network through any of its peers, and take part until Ctrl-C.

    Ctrl-C leaves in order: zone and sites go to a neighbour first. A peer that is killed instead is taken
    over by its neighbours when it has been silent for a while.

    \b
    Examples:
      ipmicra overlay join net.json 192.0.2.1:7400 --listen 192.0.2.9:7400 --point -80,3,11
    """
    terminal.remark(f"joining through {via}; listening at {listen}")
    served(read(network), listen, point_of(point), via)
