"""Options that overlay commands share -> a peer that runs until Ctrl-C, and then leaves in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click

from ipmicra.cli import terminal
from ipmicra.crawler.crawl import tune_process
from ipmicra.errors import OperatorFault
from ipmicra.host.folder import hold_lock
from ipmicra.model.struct_types import build_struct_types
from ipmicra.model.urls import Normaliser, Site, site_of
from ipmicra.model.zones import SpacePoint
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.sites.nearness import HandOverRule
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.network_file import NetworkFile
from ipmicra.overlay.live.node import LEAVING_SECONDS_MAX, Node
from ipmicra.overlay.live.placement import own_point
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from ipmicra.settings import Settings

FOLDER = "peer"  # in the data folder

listen_option = click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    help="Address where other peers reach this peer; also its name.",
)
point_option = click.option(
    "--point", metavar="X,Y,Z", help="Network coordinates in ms; by default computed from round trips."
)
folder_option = click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the peer's data (default: 'peer' in the data folder).",
)


class PeerSummary(NamedTuple):
    """The identity of this peer, and how it joins."""

    name: str
    address: str  # empty: it cannot be reached
    point: SpacePoint | None
    via: str | None


def point_of(text: str | None) -> SpacePoint | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise OperatorFault(f"{text!r} is not a point: write numbers with commas between") from None


def site_named(text: str) -> Site:
    """A site as someone writes it: example.org, or https://example.org."""
    url = Normaliser().url(text if "://" in text else f"https://{text}")
    if url is None:
        raise OperatorFault(f"{text!r} is not a site: write example.org or https://example.org")
    return site_of(url)


def checked(point: SpacePoint, network: NetworkFile) -> SpacePoint:
    if len(point) != len(network.low):
        raise OperatorFault(f"this network's points have {len(network.low)} numbers, not {len(point)}")
    return point


def serve(
    network: NetworkFile, standing: PeerSummary, context: click.Context, folder: Path | None
) -> None:
    """Take part until Ctrl-C or SIGTERM."""
    settings, reload = terminal.settings_of(context), terminal.reload_of(context)
    if standing.point is not None:
        checked(standing.point, network)
    place = (folder or settings.data_folder / FOLDER).absolute()
    place.mkdir(parents=True, exist_ok=True)
    tune_process()
    build_struct_types()
    with hold_lock(place):
        asyncio.run(_run(network, standing, settings, place, reload))


async def _run(
    network: NetworkFile,
    standing: PeerSummary,
    settings: Settings,
    folder: Path,
    reload: Callable[[], Settings],
) -> None:
    codec = FrameCodec(network.secret.encode())
    point = standing.point
    if point is None:
        assert standing.via is not None, "the first peer stands where it says"
        point = await own_point(standing.via, codec)
    descriptor = PeerDescriptor(PeerId(standing.name), point, (), address=standing.address)
    rules = PeerRules(
        switch=network.scheme, hand_over=HandOverRule(measured_max=settings.overlay.measured_max)
    )
    peer = Peer(descriptor, network.space, rules)
    crawl_service = PeerCrawlService(folder, peer, codec, settings.peer, lambda: reload().peer)
    try:
        node = Node(peer, network.space, codec, crawl_service.round_trip_ms, crawl_service)
        await _until_left(node, standing.via)
    finally:
        await crawl_service.close()


async def _until_left(node: Node, via: str | None) -> None:
    running = asyncio.ensure_future(node.run(via))
    loop = asyncio.get_running_loop()

    asked_to_leave = False

    def leave() -> None:
        """Leave in order, within a time limit; a second signal ends the wait."""
        nonlocal asked_to_leave
        at_once = asked_to_leave or not node.is_running or not len(node.peer.table)
        asked_to_leave = True
        if node.is_running:
            node.leave()
        loop.call_later(0.0 if at_once else LEAVING_SECONDS_MAX, running.cancel)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    with contextlib.suppress(asyncio.CancelledError):
        await running
