"""The overlay in a box: `ipmicra overlay start` and `join` in the crawlers' namespaces, and the peers'
reports.

Peers place themselves and the sites by their own round trips. Invariant: the crawler of each site is
asked from the peers, as an operator would do.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ipmicra.errors import PeerFault
from ipmicra.lab.box.box import NetworkBox
from ipmicra.lab.box.processes.system import settings_in
from ipmicra.lab.box.world.box_world import BoxSite
from ipmicra.overlay.live import rpc_client
from ipmicra.overlay.live.network_file import NetworkFile, read_network_file
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_rpc import PeerStatus

PORT = 7400
LOOK_SECONDS = 0.5


class Peers:
    """One peer in every crawler's namespace. Ask it from inside the box."""

    def __init__(self, box: NetworkBox, folder: Path, reach_ms: float) -> None:
        self._box, self._folder, self._reach_ms = box, folder, reach_ms
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
        return read_network_file(self._file)

    def start_first(self) -> None:
        """The first makes the network."""
        first = next(iter(self._addresses))
        self._run(first, "start", str(self._file), "--reach", f"{self._reach_ms:.0f}")
        while not self._file.exists() or not self._file.stat().st_size:
            time.sleep(LOOK_SECONDS)

    def start_others(self) -> None:
        """Start the other peers: they join through the first; each finds its place by measuring round
        trips.
        """
        first, *others = self._addresses
        for name in others:
            self._run(name, "join", str(self._file), self._addresses[first])

    def kill(self, name: str) -> None:
        process = self._processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def close(self) -> None:
        for name in self.alive:
            self.kill(name)

    async def submit(self, sites: Sequence[BoxSite]) -> None:
        """Each site to the first living peer; some of them time it, and place it by that."""
        network = self.network
        codec, via = FrameCodec(network.secret.encode()), self._addresses[self.alive[0]]
        for site in sites:
            await rpc_client.submit(named(site), None, network.space, via, codec)

    async def owners(self) -> dict[str, list[str]]:
        """The peers that report to crawl each site; peers that do not answer yet are left out."""
        found: dict[str, list[str]] = {}
        for name in self.alive:
            status = await self._status(name)
            for site in status.crawled if status is not None else ():
                found.setdefault(site, []).append(name)
        return found

    async def zone_coverage(self) -> float:
        """Of the space, as far as the living peers' zones cover it; 0 while one of them is silent."""
        known = [await self._status(name) for name in self.alive]
        zones = [zone for status in known if status is not None for zone in status.descriptor.zones]
        return sum(zone.volume for zone in zones) / self.network.space.volume if all(known) else 0.0

    async def _status(self, name: str) -> PeerStatus | None:
        try:
            return await rpc_client.status_of(
                self._addresses[name], FrameCodec(self.network.secret.encode())
            )
        except (PeerFault, TimeoutError):
            return None

    def _run(self, name: str, *words: str) -> None:
        settings = settings_in(self._box.world, self._folder / f"peer-{name}")
        line = [sys.executable, "-m", "ipmicra", *settings, "overlay", *words]
        with (self._folder / f"peer-{name}.log").open("ab") as log:
            self._processes[name] = self._box.crawler(name).start(
                [*line, "--listen", self._addresses[name]], stdout=log, stderr=log
            )


def named(site: BoxSite) -> str:
    """A site's name in the overlay."""
    return f"http://{site.name}"
