"""Frames for an address -> a connection to it, kept open while it is used.

    host:port         a peer that can be reached
    host:port/name    a peer that cannot, by way of the one at host:port (see `relay`)

Law: one writer an address, so frames arrive in order. What could not be written comes back by `lost`; a
peer whose line broke and could not be opened again is named by `lost` even if nothing was to be said.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple

from ipmicra.protocol.overlay_messages import Outgoing, PeerDescriptor

CONNECT_SECONDS_MAX = 3.0
WAITING_MAX = 10_000  # frames; a peer that reads slower than this loses the newest
IDLE_SECONDS_MAX = 60.0
SHORTEST_SECONDS = 1.0  # a line that breaks sooner is no line: a relay hangs up on whom it cannot find

Sealing = Callable[[Outgoing], bytes]


class ConnectionLost(NamedTuple):
    """A peer that cannot be reached, and what was meant for it, if anything."""

    to: PeerDescriptor
    outgoing: Outgoing | None


class PeerConnections:
    """Connections to other peers, each opened when there is something to say."""

    def __init__(
        self, tasks: asyncio.TaskGroup, seal: Sealing, lost: Callable[[ConnectionLost], None]
    ) -> None:
        self._tasks = tasks
        self._seal = seal
        self._lost = lost
        self._lines: dict[str, _Line] = {}
        self._writers: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        for writer in self._writers:
            writer.cancel()

    def send(self, outgoing: Outgoing) -> None:
        line = self._lines.get(outgoing.to.address)
        if line is None:
            line = _Line(outgoing.to)
            speaking = self._speak(line)
            try:
                task = self._tasks.create_task(speaking)
            except RuntimeError:  # the node is ending, and its tasks begin nothing more
                speaking.close()
                return
            self._lines[outgoing.to.address] = line
            self._writers.add(task)
            task.add_done_callback(self._writers.discard)
        try:
            line.waiting.put_nowait(outgoing)
        except asyncio.QueueFull:
            self._lost(ConnectionLost(outgoing.to, outgoing))

    async def _speak(self, line: _Line) -> None:
        """Until the peer cannot be reached or nothing was said for a while."""
        try:
            while await line.carried(self._seal):
                pass
        except OSError:  # TimeoutError is one
            self._lost(ConnectionLost(line.to, line.unsaid))
            while not line.waiting.empty():
                left = line.waiting.get_nowait()
                if left is not None:
                    self._lost(ConnectionLost(left.to, left))
        finally:
            del self._lines[line.to.address]


class _Line:
    """One connection at a time to one peer."""

    def __init__(self, to: PeerDescriptor) -> None:
        self.to = to
        self.waiting: asyncio.Queue[Outgoing | None] = asyncio.Queue(WAITING_MAX)
        self.unsaid: Outgoing | None = None

    async def carried(self, seal: Sealing) -> bool:
        """Connect and write until the line breaks (True) or is idle (False). Raises OSError: no way."""
        reader, writer = await opened(self.to.address)
        opened_s = time.monotonic()
        watching = asyncio.create_task(self._watch(reader))
        try:
            broke = await self._write(writer, seal)
            if broke and time.monotonic() - opened_s < SHORTEST_SECONDS:
                raise ConnectionError(f"{self.to.address} hung up at once")
            return broke
        finally:
            watching.cancel()
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        """The other side says nothing on this connection; when it ends, it is gone."""
        with contextlib.suppress(OSError):
            await reader.read(1)
        if not self.waiting.full():
            self.waiting.put_nowait(None)

    async def _write(self, writer: asyncio.StreamWriter, seal: Sealing) -> bool:
        while True:
            if self.unsaid is None:
                try:
                    async with asyncio.timeout(IDLE_SECONDS_MAX):
                        self.unsaid = await self.waiting.get()
                except TimeoutError:
                    return False
            if self.unsaid is None:
                return True
            self.to = self.unsaid.to
            try:
                writer.write(seal(self.unsaid))
                await writer.drain()
            except OSError:
                return True  # said again on a new connection
            self.unsaid = None


async def opened(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the peer at this address, or to the one that relays for it."""
    host, _, port = address.partition("/")[0].rpartition(":")
    async with asyncio.timeout(CONNECT_SECONDS_MAX):
        return await asyncio.open_connection(host.strip("[]"), int(port))
