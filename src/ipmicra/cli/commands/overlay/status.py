"""`ipmicra overlay status`: what one peer knows, or all of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.overlay.can.projection import Projection
from ipmicra.overlay.live.network_file import read
from ipmicra.overlay.live.projection import shown_on_a_plane
from ipmicra.overlay.live.rpc_client import everybody, status_of
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_rpc import PeerStatus


class NetworkStatus(msgspec.Struct, frozen=True):
    """The asked peers, and their zones on a plane, to be drawn."""

    peers: list[PeerStatus]
    projection: Projection


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("address")
@click.option("--all", "of_all", is_flag=True, help="Go from neighbour to neighbour and ask everybody.")
@terminal.json_option
def command(network: Path, address: str, of_all: bool, as_json: bool) -> None:
    """Ask a peer for its zones, its neighbours and its sites; or all peers that can be found from there.

    With --json there are also the zones on a plane of the two axes along which the peers differ most.

    \b
    Examples:
      ipmicra overlay status net.json 192.0.2.1:7400
      ipmicra overlay status net.json 192.0.2.1:7400 --all
      ipmicra overlay status net.json 192.0.2.1:7400 --all --json
    """
    seal = FrameCodec(read(network).secret.encode())
    peers = asyncio.run(_asked(address, seal, of_all))
    told = NetworkStatus(peers, shown_on_a_plane(peers))
    terminal.show(told, as_json, lambda: _overview(peers) if of_all else _table(peers[0]))


async def _asked(address: str, seal: FrameCodec, of_all: bool) -> list[PeerStatus]:
    return await everybody(address, seal) if of_all else [await status_of(address, seal)]


def _overview(peers: list[PeerStatus]) -> Table:
    table = Table("peer", "share of space", "neighbours", "home to", "crawls", "pages", "to fetch")
    for peer in peers:
        share = sum(zone.volume for zone in peer.card.zones) / peer.space.volume
        counts = (len(peer.neighbours), len(peer.homed), len(peer.crawled), peer.pages, peer.pending)
        table.add_row(peer.card.peer, f"{share:.1%}", *map(str, counts))
    return table


def _table(found: PeerStatus) -> Table:
    table = Table("what", "value", show_header=False)
    table.add_row("peer", f"{found.card.peer} at {found.card.address}")
    table.add_row("point", ", ".join(f"{x:g}" for x in found.card.point))
    share = sum(zone.volume for zone in found.card.zones) / found.space.volume
    table.add_row("zones", f"{len(found.card.zones)}, {share:.1%} of the space")
    table.add_row("neighbours", ", ".join(card.peer for card in found.neighbours) or "none")
    table.add_row("home to", ", ".join(found.homed) or "no site")
    table.add_row("to crawl", ", ".join(found.crawled) or "no site")
    table.add_row("crawls", f"no: {found.resting}" if found.resting else "yes")
    table.add_row("pages found here", str(found.pages))
    table.add_row("URLs to fetch", str(found.pending))
    table.add_row("packages with no copy yet", str(found.packages_uncopied))
    table.add_row("letters lost", str(found.letters_lost))
    table.add_row("frames refused", str(found.frames_refused))
    return table
