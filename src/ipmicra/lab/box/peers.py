"""The overlay in a box: `ipmicra overlay start` and `join` in the crawlers' namespaces, and what peers say.

Coordinates come from real round trips: crawlers ping each other, some of them probe each site, and GNP makes
points of it. Law: who crawls what is asked of the peers themselves, as an operator would.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ipmicra.coordinates.gnp import Points, landmark_points, points_against
from ipmicra.errors import HostFault
from ipmicra.lab.box.agents.handle import Agents
from ipmicra.lab.box.box import Box
from ipmicra.lab.box.world import BoxSite, BoxWorld
from ipmicra.lab.world import Milliseconds
from ipmicra.overlay.live import asking
from ipmicra.overlay.live.frames import Seal
from ipmicra.overlay.live.network_file import NetworkFile, read
from ipmicra.overlay.live.spoken import Status

PORT = 7400
LOOK_SECONDS = 0.5
SITES_AT_ONCE = 8


async def mutual_ms(world: BoxWorld, agents: Agents) -> Milliseconds:
    """The crawlers' round trips to each other, by ping; they must not be behind NAT."""
    crawlers = world.file.crawlers
    found = np.zeros((len(crawlers), len(crawlers)))
    for here, one in enumerate(crawlers):
        for there, other in enumerate(crawlers[:here]):
            probed = await agents.probe(one.name, other.addresses[0], "", "icmp")
            found[here, there] = found[there, here] = probed.round_trip_ms or np.nan
    return found


async def site_points(
    world: BoxWorld, agents: Agents, landmarks: Sequence[int], points: Points
) -> Points:
    """Where these crawlers' probes place each site."""
    crawlers, room = world.file.crawlers, asyncio.Semaphore(SITES_AT_ONCE)

    async def one(site: BoxSite) -> list[float]:
        address, name = site.stands[0].addresses[0], f"http://{site.name}"
        async with room:
            found = await asyncio.gather(
                *(agents.probe(crawlers[mark].name, address, name) for mark in landmarks)
            )
        return [np.nan if each.round_trip_ms is None else each.round_trip_ms for each in found]

    rows = await asyncio.gather(*(one(site) for site in world.file.sites))
    return points_against(points[list(landmarks)], np.array(rows))


def spread_landmarks(points: Points, count: int) -> list[int]:
    """So many of the points, each the farthest from those before it."""
    chosen = [0]
    while len(chosen) < min(count, len(points)):
        nearest = ((points[:, None] - points[chosen][None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(nearest.argmax()))
    return chosen


class Peers:
    """One peer in every crawler's namespace. Call it from inside the box."""

    def __init__(self, box: Box, folder: Path, round_trips_ms: Milliseconds) -> None:
        self._box, self._folder = box, folder
        self.points = landmark_points(round_trips_ms)
        self._file = folder / "net.json"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._addresses = {
            crawler.name: f"{crawler.addresses[0]}:{PORT}" for crawler in box.world.file.crawlers
        }

    @property
    def alive(self) -> list[str]:
        return list(self._processes)

    @property
    def network(self) -> NetworkFile:
        return read(self._file)

    def start(self, reach_ms: float) -> None:
        """The first makes the network, the others join through it."""
        first, *others = self._addresses
        self._run(first, "start", str(self._file), "--reach", f"{reach_ms:.0f}")
        while not self._file.exists() or not self._file.stat().st_size:
            time.sleep(LOOK_SECONDS)
        for name in others:
            self._run(name, "join", str(self._file), self._addresses[first])

    def _run(self, name: str, *words: str) -> None:
        number = list(self._addresses).index(name)
        point = ",".join(f"{x:.3f}" for x in self.points[number])
        line = [sys.executable, "-m", "ipmicra", "overlay", *words]
        line += ["--listen", self._addresses[name], f"--point={point}"]
        with (self._folder / f"peer-{name}.log").open("ab") as log:
            self._processes[name] = self._box.crawler(name).start(line, stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name in self.alive:
            self.kill(name)

    async def submit(self, sites: Sequence[BoxSite], points: Points) -> None:
        network = self.network
        seal, via = Seal(network.secret.encode()), self._addresses[self.alive[0]]
        for site, point in zip(sites, points, strict=True):
            inside = np.clip(point, np.array(network.low) + 1, np.array(network.high) - 1)
            where = tuple(float(x) for x in inside)
            await asking.submit(site.name, where, network.space, via, seal)

    async def owners(self) -> dict[str, list[str]]:
        """Who says that they crawl each site; peers that do not answer yet say nothing."""
        found: dict[str, list[str]] = {}
        for name in self.alive:
            status = await self._status(name)
            for site in status.crawled if status is not None else ():
                found.setdefault(site, []).append(name)
        return found

    async def joined_share(self) -> float:
        """Of the space, as far as the living peers' zones cover it."""
        known = [await self._status(name) for name in self.alive]
        zones = [zone for status in known if status is not None for zone in status.card.zones]
        return sum(zone.volume for zone in zones) / self.network.space.volume if all(known) else 0.0

    async def _status(self, name: str) -> Status | None:
        try:
            return await asking.status_of(self._addresses[name], Seal(self.network.secret.encode()))
        except (HostFault, TimeoutError):
            return None
