"""`ipmicra overlay dashboard`: the network in a browser."""

from __future__ import annotations

from pathlib import Path

import click
import uvicorn

from ipmicra.cli import terminal
from ipmicra.net.http_server import BoundedServer, ConnectionLimits
from ipmicra.net.listener import PORT_MAX, listening_socket
from ipmicra.overlay.live.network_file import read_network_file
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.web.pages.overlay_pages import OverlayObserver, application


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("via", metavar="ADDRESS")
@click.option("--address", default="127.0.0.1", show_default=True, help="Address to serve on.")
@click.option(
    "--port",
    type=click.IntRange(1, PORT_MAX),
    default=8080,
    show_default=True,
    help="Port to serve on.",
)
def command(network: Path, via: str, address: str, port: int) -> None:
    """Serve pages that draw the zones of all peers and search what they crawled, until Ctrl-C.

    Any peer will do as the one to ask; when it is gone, another that was met is asked.

    \b
    Examples:
      ipmicra overlay dashboard net.json 192.0.2.1:7400
      ipmicra overlay dashboard net.json 192.0.2.1:7400 --port 9000
    """
    lookout = OverlayObserver(via, FrameCodec(read_network_file(network).secret.encode()))
    listener = listening_socket(address, port)
    terminal.print_note(f"the network of {via} at http://{address}:{port}/ until Ctrl-C")
    config = uvicorn.Config(application(lookout), log_level="warning", access_log=False)
    BoundedServer(config, ConnectionLimits()).run(sockets=[listener])
