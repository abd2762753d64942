"""`ipmicra overlay start`: the first peer of a new network."""

from __future__ import annotations

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
from ipmicra.overlay.live.network_file import create_network_file

DIMENSIONS = 3


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@listen_option
@point_option
@folder_option
@click.option(
    "--reach",
    type=float,
    default=300.0,
    show_default=True,
    help="Half the side length of the space, in ms.",
)
@click.option(
    "--scheme", default="MP/slab", show_default=True, help="How zones are split for newcomers."
)
@click.pass_context
def command(
    context: click.Context,
    network: Path,
    listen: str | None,
    point: str | None,
    folder: Path | None,
    reach: float,
    scheme: str,
) -> None:
    """Make the file of a new network and be its first peer, until Ctrl-C.

    The file holds the network's secret: bring it to the other peers by a way that you trust. The point is
    where this machine stands in network coordinates, in ms; all points of a network have as many numbers.
    Without one the first peer is the middle of the space, and others find their place around it.

    \b
    Examples:
      ipmicra overlay start net.json --listen 127.0.0.1:7400
      ipmicra overlay start net.json --listen 192.0.2.1:7400 --point 10,-4,2 --reach 500
    """
    if listen is None:
        raise OperatorFault("the first peer must be reachable: give --listen ADDRESS:PORT")
    place = point_of(point) or (0.0,) * DIMENSIONS
    sides = (reach,) * len(place)
    made = create_network_file(network, tuple(-side for side in sides), sides, scheme)
    terminal.print_note(f"made {network}; listening at {listen}")
    serve(made, PeerSummary(listen, listen, place, None), context, folder)
