"""Frames for an address -> a connection to it, kept open while it is in use.

    host:port         a reachable peer
    host:port/name    an unreachable peer, relayed by the one at host:port (see `relay`)

Invariant: one writer per address, so frames arrive in order. A frame that could not be written is returned
through `on_lost`; a peer whose connection broke and could not be reopened is reported there even if no frame
was waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple

from ipmicra.protocol.overlay_messages import Outgoing, PeerDescriptor

CONNECT_SECONDS_MAX = 3.0
WAITING_MAX = 10_000  # frames; beyond this the newest are lost
IDLE_SECONDS_MAX = 60.0
SHORTEST_SECONDS = (
    1.0  # shorter is a failure: a relay closes the connection if it does not know the peer
)

EncodeFrame = Callable[[Outgoing], bytes]


class ConnectionLost(NamedTuple):
    """An unreachable peer, and the message meant for it, if any."""

    to: PeerDescriptor
    outgoing: Outgoing | None


class PeerConnections:
    """Connections to other peers, each opened when there is something to send."""

    def __init__(
        self, tasks: asyncio.TaskGroup, codec: EncodeFrame, on_lost: Callable[[ConnectionLost], None]
    ) -> None:
        self._tasks = tasks
        self._codec = codec
        self._on_lost = on_lost
        self._connections: dict[str, _Connection] = {}
        self._writers: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        for writer in self._writers:
            writer.cancel()

    def send(self, outgoing: Outgoing) -> None:
        connection = self._connections.get(outgoing.to.address)
        if connection is None:
            connection = _Connection(outgoing.to)
            running = self._run(connection)
            try:
                task = self._tasks.create_task(running)
            except RuntimeError:  # the node is stopping: its task group accepts no new task
                running.close()
                return
            self._connections[outgoing.to.address] = connection
            self._writers.add(task)
            task.add_done_callback(self._writers.discard)
        try:
            connection.waiting.put_nowait(outgoing)
        except asyncio.QueueFull:
            self._on_lost(ConnectionLost(outgoing.to, outgoing))

    async def _run(self, connection: _Connection) -> None:
        """Write until the peer cannot be reached or the connection was idle for a while."""
        try:
            while await connection.write_until_broken(self._codec):
                pass
        except OSError:  # includes TimeoutError
            self._on_lost(ConnectionLost(connection.to, connection.pending))
            while not connection.waiting.empty():
                left = connection.waiting.get_nowait()
                if left is not None:
                    self._on_lost(ConnectionLost(left.to, left))
        finally:
            del self._connections[connection.to.address]


class _Connection:
    """One connection at a time to one peer."""

    def __init__(self, to: PeerDescriptor) -> None:
        self.to = to
        self.waiting: asyncio.Queue[Outgoing | None] = asyncio.Queue(WAITING_MAX)
        self.pending: Outgoing | None = None

    async def write_until_broken(self, codec: EncodeFrame) -> bool:
        """Connect and write until the connection breaks (True) or is idle (False). Raises OSError."""
        reader, writer = await open_connection(self.to.address)
        opened_s = time.monotonic()
        watching = asyncio.create_task(self._watch_for_end(reader))
        try:
            broke = await self._write(writer, codec)
            if broke and time.monotonic() - opened_s < SHORTEST_SECONDS:
                raise ConnectionError(f"{self.to.address} closed the connection at once")
            return broke
        finally:
            watching.cancel()
            writer.close()

    async def _watch_for_end(self, reader: asyncio.StreamReader) -> None:
        """The other side sends nothing on this connection; when it ends, the peer is gone."""
        with contextlib.suppress(OSError):
            await reader.read(1)
        if not self.waiting.full():
            self.waiting.put_nowait(None)

    async def _write(self, writer: asyncio.StreamWriter, codec: EncodeFrame) -> bool:
        while True:
            if self.pending is None:
                try:
                    async with asyncio.timeout(IDLE_SECONDS_MAX):
                        self.pending = await self.waiting.get()
                except TimeoutError:
                    return False
            if self.pending is None:
                return True
            self.to = self.pending.to
            try:
                writer.write(codec(self.pending))
                await writer.drain()
            except OSError:
                return True  # sent again on a new connection
            self.pending = None


async def open_connection(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the peer at this address, or to its relay."""
    host, _, port = address.partition("/")[0].rpartition(":")
    async with asyncio.timeout(CONNECT_SECONDS_MAX):
        return await asyncio.open_connection(host.strip("[]"), int(port))
