"""`ipmicra overlay search`: what all peers together know, asked by way of any of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from ipmicra.cli import terminal
from ipmicra.cli.display.search_answers import shown
from ipmicra.model.search import PER_SITE, SearchRequest
from ipmicra.overlay.live import rpc_client
from ipmicra.overlay.live.network_file import read_network_file
from ipmicra.protocol.overlay_frames import FrameCodec


@click.command()
@click.argument("network", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("via", metavar="ADDRESS")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", default=10, show_default=True, help="Results to show.")
@click.option("--all-of-site", is_flag=True, help="Show all results of a site, not only the best.")
@terminal.json_option
def command(
    network: Path, via: str, words: tuple[str, ...], limit: int, all_of_site: bool, as_json: bool
) -> None:
    """Search the pages that the peers have crawled.

    The asked peer asks all others, a few at a time, for at most 3 seconds, and says what share of the space
    has not answered by then.

    \b
    Examples:
      ipmicra overlay search net.json 192.0.2.1:7400 climate change
      ipmicra overlay search net.json 192.0.2.9:7400 '"exact phrase" site:example.org' --json
    """
    request = SearchRequest(text=" ".join(words), limit=limit, per_site=0 if all_of_site else PER_SITE)
    found = asyncio.run(
        rpc_client.search(request, via, FrameCodec(read_network_file(network).secret.encode()))
    )
    terminal.show(found, as_json, lambda: shown(found.answer))
    terminal.print_note(f"{found.peers_asked} peers answered, {found.peers_silent} did not")
