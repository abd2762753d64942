"""Live peers on loopback, a fifth of them killed at once: how long until every site has one owner again?

Peers run in a few processes with the default times; one process of five is killed. Told are the seconds
until zones fill the space again and every site has one home and one crawler.

    python -m benchmarks overlay --peers 200 --sites 400
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import subprocess
import sys
import time
from random import Random

from ipmicra.errors import HostFault
from ipmicra.overlay.can.box import Box, Point
from ipmicra.overlay.can.messages import Card, PeerId
from ipmicra.overlay.can.nearness import HandOverRule
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.live.asking import status_of, submit
from ipmicra.overlay.live.frames import Seal
from ipmicra.overlay.live.node import Node
from ipmicra.overlay.live.spoken import Status

SPACE = Box((-100.0, -100.0, -100.0), (100.0, 100.0, 100.0))
SEAL = Seal(b"a benchmark has no secrets")
PROCESSES = 5
PATIENCE_SECONDS = 180.0
JOINS_APART_SECONDS = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=int, default=200)
    parser.add_argument("--sites", type=int, default=400)
    parser.add_argument("--serve", nargs="+", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.serve:
        asyncio.run(_serve(wanted.serve[0], [int(port) for port in wanted.serve[1:]]))
        return
    asyncio.run(_measured(wanted.peers // PROCESSES, wanted.sites))


async def _serve(via: str, ports: list[int]) -> None:
    """Some peers in this process."""
    rules = PeerRules(hand_over=HandOverRule())
    async with asyncio.TaskGroup() as tasks:
        for port in ports:
            address = f"127.0.0.1:{port}"
            card = Card(PeerId(f"peer-{port}"), _point(Random(port)), (), address=address)
            node = Node(Peer(card, SPACE, rules), SPACE, SEAL)
            tasks.create_task(node.run(None if address == via else via))
            await asyncio.sleep(JOINS_APART_SECONDS)


async def _measured(peers_each: int, sites: int) -> None:
    ports = _free_ports(PROCESSES * peers_each)
    groups = [ports[start : start + peers_each] for start in range(0, len(ports), peers_each)]
    processes = [_started(ports[0], group) for group in groups]
    try:
        await _row("all have joined", ports, 0)
        dice = Random(1)
        for number in range(sites):
            via = f"127.0.0.1:{dice.choice(ports)}"
            await submit(f"s{number}.example", _point(dice), SPACE, via, SEAL)
        await _row("every site has one owner", ports, sites)
        await asyncio.sleep(PeerRules().hello_every_s * 2)
        processes[1].kill()
        processes[1].wait()
        left = [port for group in (groups[0], *groups[2:]) for port in group]
        await _row(f"{peers_each} of {len(ports)} killed: every site has one owner again", left, sites)
    finally:
        for process in processes:
            process.kill()
            process.wait()


async def _row(what: str, ports: list[int], sites: int) -> None:
    """One line of the table: how long it took until nothing was amiss."""
    began = time.monotonic()
    while (amiss := await _amiss(ports, sites)) and time.monotonic() - began < PATIENCE_SECONDS:
        await asyncio.sleep(0.5)
    sys.stdout.write(f"{what:<60} {time.monotonic() - began:6.1f} s  {amiss or 'ok'}\n")
    sys.stdout.flush()


async def _amiss(ports: list[int], sites: int) -> str:
    try:
        peers: list[Status] = [await status_of(f"127.0.0.1:{port}", SEAL) for port in ports]
    except HostFault as fault:
        return str(fault)
    filled = sum(zone.volume for peer in peers for zone in peer.card.zones) / SPACE.volume
    homed = [site for peer in peers for site in peer.homed]
    crawled = [site for peer in peers for site in peer.crawled]
    tiled = all(peer.card.zones for peer in peers) and abs(filled - 1) < 1e-9
    if tiled and all(len(found) == len(set(found)) == sites for found in (homed, crawled)):
        return ""
    return f"zones fill {filled:.3f}, {len(set(homed))} of {sites} homed, {len(set(crawled))} crawled"


def _started(first: int, ports: list[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks", "overlay", "--serve", f"127.0.0.1:{first}"]
    return subprocess.Popen([*command, *map(str, ports)])


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listening.getsockname()[1] for listening in sockets]
    for listening in sockets:
        listening.close()
    return ports


def _point(dice: Random) -> Point:
    return tuple(dice.uniform(low, high) for low, high in zip(SPACE.low, SPACE.high, strict=True))


if __name__ == "__main__":
    main()
