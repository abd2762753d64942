"""Live peers on loopback, a fifth of them killed at once: how long until every site has one owner again?

Peers run in processes of a few each, over real sockets, with the default times; a fifth of the processes
is killed (SIGKILL) at the same moment. Shown are the seconds until zones fill the space again and every
site has one home and one crawler, the time in which any site had two, and the hops of messages beside
those of as many peers at the same points in the simulator. With --pages they also crawl a web on
loopback, and the time is shown until a search finds every page again.

    python -m benchmarks overlay --peers 200 --sites 400
    python -m benchmarks overlay --peers 40 --sites 40 --pages 5
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from multiprocessing.context import ForkProcess
from random import Random
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.overlay_parts.observation import Look, looked, pages_found
from benchmarks.overlay_parts.peers import (
    JOINS_APART_SECONDS,
    SECRET,
    SPACE,
    Job,
    address_at,
    point_of,
    random_point,
    started,
)
from ipmicra.errors import PeerFault
from ipmicra.lab.loopback.layout import WebLayout
from ipmicra.lab.loopback.pages import made_sites
from ipmicra.lab.loopback.server import LoopbackWeb
from ipmicra.lab.overlay.routes import Routes
from ipmicra.lab.overlay.setup import OverlaySetup
from ipmicra.lab.overlay.zone_simulation import ZoneSimulation
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.can.zones.splitting import Scheme
from ipmicra.overlay.live.rpc_client import locate_owner, submit
from ipmicra.protocol.overlay_frames import FrameCodec

PATIENCE_SECONDS = 300.0
LETTERS = 200
SUBMITTED_AT_ONCE, SUBMITTED_TRIES = 8, 3
KILLED_SHARE = 0.2
FIRST_PORT, LAST_PORT = 20_000, 32_000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", type=int, default=200)
    parser.add_argument("--each", type=int, default=4, help="peers in a process")
    parser.add_argument("--sites", type=int, default=400)
    parser.add_argument("--pages", type=int, default=0, help="of each site; 0: nothing is crawled")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    with TemporaryDirectory() as folder:
        ports = _free_ports(wanted.peers + 2)
        web = _web(wanted, *ports[-2:])
        groups = [ports[at : at + wanted.each] for at in range(0, wanted.peers, wanted.each)]
        crawling = (folder, ports[-1]) if web is not None else ("", 0)
        jobs = [
            Job(
                address_at(ports[0]), tuple(group), number * wanted.each * JOINS_APART_SECONDS, *crawling
            )
            for number, group in enumerate(groups)
        ]
        processes = [started(job) for job in jobs]
        try:
            asyncio.run(_measured(wanted, groups, processes, web))
        finally:
            for process in processes:
                process.kill()
                process.join()


def _web(wanted: argparse.Namespace, port: int, names_port: int) -> LoopbackWeb | None:
    if not wanted.pages:
        return None
    layout = WebLayout.of(made_sites(wanted.seed, wanted.sites, wanted.pages, port))
    return LoopbackWeb(layout.sites, port, names_port=names_port)


async def _measured(
    wanted: argparse.Namespace,
    groups: list[list[int]],
    processes: list[ForkProcess],
    web: LoopbackWeb | None,
) -> None:
    ports, dice = [port for group in groups for port in group], Random(wanted.seed)
    sites = [f"https://s{n}.example" for n in range(wanted.sites)] if web is None else _sites(web)
    async with AsyncExitStack() as stack:
        if web is not None:
            await stack.enter_async_context(web)
        await _row("all have joined", ports, 0)
        await _submitted(sites, ports, dice)
        await _row("every site has one owner", ports, len(sites))
        if web is not None:
            await _crawled("a search finds every page", ports, web)
        await _hops(ports, dice)
        await asyncio.sleep(2 * PeerRules().replicate_every_s)
        victims = dice.sample(range(1, len(groups)), round(KILLED_SHARE * len(groups)))
        for number in victims:
            processes[number].kill()
        left = [port for number, group in enumerate(groups) if number not in victims for port in group]
        await _row(
            f"{len(ports) - len(left)} of {len(ports)} killed, all is well again", left, len(sites)
        )
        if web is not None:
            await _crawled("and a search finds every page", left, web)
        await _hops(left, dice)


def _sites(web: LoopbackWeb) -> list[str]:
    return sorted(f"http://{site.name}:{web.port}" for site in web.sites.values())


async def _submitted(sites: list[str], ports: list[int], dice: Random) -> None:
    """Each by way of any peer; by way of another where no answer came."""
    repeated = 0
    turns = asyncio.Semaphore(SUBMITTED_AT_ONCE)

    async def one(site: str) -> None:
        nonlocal repeated
        point, ways = random_point(dice), dice.sample(ports, SUBMITTED_TRIES)
        async with turns:
            for port in ways:
                try:
                    await submit(site, point, SPACE, address_at(port), FrameCodec(SECRET))
                except PeerFault:
                    repeated += 1
                else:
                    return

    began_s = time.monotonic()
    await asyncio.gather(*map(one, sites))
    took_s = time.monotonic() - began_s
    _told(f"{f'{len(sites)} sites are submitted':<60} {took_s:6.1f} s  {repeated} of them repeated")


async def _row(what: str, ports: list[int], sites: int) -> None:
    """How long it took until nothing was amiss, and the longest that one site had two crawlers."""
    began_s = time.monotonic()
    since_s: dict[str, float] = {}
    longest_s = 0.0

    async def look() -> str:
        nonlocal since_s, longest_s
        found: Look = await looked(ports, sites)
        now_s = time.monotonic()
        since_s = {site: since_s.get(site, now_s) for site in found.crawled_twice}
        longest_s = max([longest_s, *(now_s - since for since in since_s.values())])
        return found.amiss

    amiss = await _until(look, began_s)
    took_s = time.monotonic() - began_s
    _told(f"{what:<60} {took_s:6.1f} s  two crawlers for at most {longest_s:.1f} s  {amiss or 'ok'}")


async def _crawled(what: str, ports: list[int], web: LoopbackWeb) -> None:
    urls = {f"http://{site.name}:{web.port}{path}" for site in web.sites.values() for path in site.pages}

    missing = set(urls)

    async def look() -> str:
        """Only sites of which something is missing are asked for again."""
        sites = [site for site in _sites(web) if any(url.startswith(f"{site}/") for url in missing)]
        missing.difference_update(await pages_found(sites, ports[0]))
        named = ", ".join(sorted(missing)[:3])
        return f"{len(missing)} of {len(urls)} pages missing: {named}" if missing else ""

    began_s = time.monotonic()
    amiss = await _until(look, began_s)
    _told(f"{what:<60} {time.monotonic() - began_s:6.1f} s  {amiss or f'{len(urls)} pages'}")


async def _until(look: Callable[[], Awaitable[str]], began_s: float) -> str:
    while (amiss := await look()) and time.monotonic() - began_s < PATIENCE_SECONDS:
        await asyncio.sleep(0.5)
    return amiss


async def _hops(ports: list[int], dice: Random) -> None:
    """Letters from anywhere to anywhere, live, beside the simulator's."""
    live, lost = [], 0
    for _ in range(LETTERS):
        try:
            via = address_at(dice.choice(ports))
            live.append((await locate_owner(random_point(dice), via, FrameCodec(SECRET))).hops)
        except PeerFault:
            lost += 1
    simulated = _simulated_hops([point_of(port) for port in ports], dice)
    ratio = mean(live) / simulated
    _told(
        f"{'hops, live : simulated':<60} {mean(live):.2f} : {simulated:.2f} = {ratio:.2f}  {lost} lost"
    )


def _simulated_hops(points: list[tuple[float, ...]], dice: Random) -> float:
    places, apart = np.array(points), np.zeros((len(points), len(points)))
    scene = OverlaySetup((), places, places[:1], SPACE, points, points[:1], apart, apart[:, :1])
    tiling = ZoneSimulation(scene)
    for _ in points[1:]:
        tiling.join(Scheme.parse(PeerRules().switch))
    routes = Routes(tiling)
    hops = [routes.hops(dice.randrange(len(points)), random_point(dice)) for _ in range(LETTERS)]
    return float(np.mean([count for count in hops if count is not None]))


def _told(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _free_ports(count: int) -> list[int]:
    """Ports below those that the kernel gives to outgoing connections, which could take one."""
    found: list[int] = []
    for port in range(FIRST_PORT, LAST_PORT):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            return found
    raise PeerFault(f"only {len(found)} ports of {count} are free from {FIRST_PORT} on")


if __name__ == "__main__":
    main()
