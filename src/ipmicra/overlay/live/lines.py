"""Frames for an address -> a connection to it, kept open while it is used.

Law: one writer an address, so frames arrive in order. What could not be written comes back by `lost`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ipmicra.overlay.can.messages import Outgoing

CONNECT_SECONDS_MAX = 3.0
WAITING_MAX = 10_000  # frames; a peer that reads slower than this loses the newest
IDLE_SECONDS_MAX = 60.0

Sealing = Callable[[Outgoing], bytes]
Lost = Callable[[Outgoing], None]


class Lines:
    """Connections to other peers, each opened when there is something to say."""

    def __init__(self, tasks: asyncio.TaskGroup, seal: Sealing, lost: Lost) -> None:
        self._tasks = tasks
        self._seal = seal
        self._lost = lost
        self._waiting: dict[str, asyncio.Queue[Outgoing]] = {}
        self._writers: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        for writer in self._writers:
            writer.cancel()

    def send(self, outgoing: Outgoing) -> None:
        address = outgoing.to.address
        if address not in self._waiting:
            self._waiting[address] = asyncio.Queue(WAITING_MAX)
            task = self._tasks.create_task(self._speak(address, self._waiting[address]))
            self._writers.add(task)
            task.add_done_callback(self._writers.discard)
        try:
            self._waiting[address].put_nowait(outgoing)
        except asyncio.QueueFull:
            self._lost(outgoing)

    async def _speak(self, address: str, waiting: asyncio.Queue[Outgoing]) -> None:
        """Until the peer cannot be reached or nothing was said for a while."""
        outgoing: Outgoing | None = None
        writer: asyncio.StreamWriter | None = None
        try:
            writer = await _connected(address)
            while True:
                async with asyncio.timeout(IDLE_SECONDS_MAX):
                    outgoing = await waiting.get()
                writer.write(self._seal(outgoing))
                await writer.drain()
                outgoing = None
        except (OSError, TimeoutError):
            pass
        finally:
            del self._waiting[address]
            if writer is not None:
                writer.close()
        self._report(outgoing, waiting)

    def _report(self, outgoing: Outgoing | None, waiting: asyncio.Queue[Outgoing]) -> None:
        if outgoing is not None:
            self._lost(outgoing)
        while not waiting.empty():
            self._lost(waiting.get_nowait())


async def _connected(address: str) -> asyncio.StreamWriter:
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(CONNECT_SECONDS_MAX):
        _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    return writer
