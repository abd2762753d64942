"""`ipmicra overlay status`: what one peer knows, or all of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click
import msgspec
from rich.table import Table

from ipmicra.cli import terminal
from ipmicra.overlay.can.projection import Projection
from ipmicra.overlay.live.network_file import read_network_file
from ipmicra.overlay.live.projection import peer_projection
from ipmicra.overlay.live.rpc_client import all_statuses, status_of
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_rpc import PeerStatus


class NetworkStatus(msgspec.Struct, frozen=True):
    """The asked peers, and their zones on a plane, to be drawn."""

    peers: list[PeerStatus]
    projection: Projection


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("address")
@click.option("--all", "of_all", is_flag=True, help="Query all peers, from neighbour to neighbour.")
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
    codec = FrameCodec(read_network_file(network).secret.encode())
    peers = asyncio.run(_collect_statuses(address, codec, of_all))
    status = NetworkStatus(peers, peer_projection(peers))
    terminal.show(status, as_json, lambda: _overview(peers) if of_all else _table(peers[0]))


async def _collect_statuses(address: str, codec: FrameCodec, of_all: bool) -> list[PeerStatus]:
    return await all_statuses(address, codec) if of_all else [await status_of(address, codec)]


def _overview(peers: list[PeerStatus]) -> Table:
    table = Table("peer", "share of space", "neighbours", "home to", "crawls", "pages", "to fetch")
    for peer in peers:
        share = sum(zone.volume for zone in peer.descriptor.zones) / peer.space.volume
        counts = (
            len(peer.neighbours),
            len(peer.home_sites),
            len(peer.crawled),
            peer.pages,
            peer.pending,
        )
        table.add_row(peer.descriptor.peer, f"{share:.1%}", *map(str, counts))
    return table


def _table(found: PeerStatus) -> Table:
    table = Table("what", "value", show_header=False)
    table.add_row("peer", f"{found.descriptor.peer} at {found.descriptor.address}")
    table.add_row("point", ", ".join(f"{x:g}" for x in found.descriptor.point))
    share = sum(zone.volume for zone in found.descriptor.zones) / found.space.volume
    table.add_row("zones", f"{len(found.descriptor.zones)}, {share:.1%} of the space")
    table.add_row("neighbours", ", ".join(descriptor.peer for descriptor in found.neighbours) or "none")
    table.add_row("home to", ", ".join(found.home_sites) or "no site")
    table.add_row("to crawl", ", ".join(found.crawled) or "no site")
    table.add_row("crawls", f"no: {found.pause_reason}" if found.pause_reason else "yes")
    table.add_row("pages found here", str(found.pages))
    table.add_row("URLs to fetch", str(found.pending))
    table.add_row("packages with no copy yet", str(found.packages_uncopied))
    table.add_row("letters lost", str(found.routed_lost))
    table.add_row("frames refused", str(found.frames_refused))
    return table
