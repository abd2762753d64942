"""Options that overlay commands share -> a peer that runs until Ctrl-C, and then leaves in order."""

from __future__ import annotations

import asyncio
import contextlib
import signal

import click

from ipmicra.errors import OperatorFault
from ipmicra.overlay.can.box import Point
from ipmicra.overlay.can.messages import Card, PeerId
from ipmicra.overlay.can.nearness import HandOverRule
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.live.frames import Seal
from ipmicra.overlay.live.network_file import NetworkFile
from ipmicra.overlay.live.node import Node

LEAVING_SECONDS_MAX = 20.0

listen_option = click.option(
    "--listen",
    required=True,
    metavar="ADDRESS:PORT",
    help="Where others reach this peer; also its name.",
)
point_option = click.option("--point", required=True, metavar="X,Y,Z", help="Network coordinates, ms.")


def point_of(text: str) -> Point:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise OperatorFault(f"{text!r} is no point: write numbers with commas between") from None


def served(network: NetworkFile, listen: str, point: Point, via: str | None) -> None:
    """Take part until Ctrl-C or SIGTERM."""
    if len(point) != len(network.low):
        raise OperatorFault(f"this network's points have {len(network.low)} numbers, not {len(point)}")
    card = Card(PeerId(listen), point, (), address=listen)
    rules = PeerRules(switch=network.scheme, hand_over=HandOverRule())
    peer = Peer(card, network.space, rules)
    asyncio.run(_run(Node(peer, network.space, Seal(network.secret.encode())), via))


async def _run(node: Node, via: str | None) -> None:
    running = asyncio.ensure_future(node.run(via))
    loop = asyncio.get_running_loop()

    def leave() -> None:
        node.leave()
        alone = not len(node.peer.table)
        loop.call_later(0.0 if alone else LEAVING_SECONDS_MAX, running.cancel)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    with contextlib.suppress(asyncio.CancelledError):
        await running
