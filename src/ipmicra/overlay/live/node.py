"""A peer and a listening socket -> a peer that takes part.

One event loop: messages are handled one after the other, ticks come between them. What the peer decides
about crawling shows in `peer.book`; whoever crawls looks there (`on_change`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from ipmicra.errors import HostFault
from ipmicra.overlay.can.box import Box
from ipmicra.overlay.can.messages import Card, Measure, Message, Outgoing, PeerId
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.live.answering import Answering
from ipmicra.overlay.live.frames import Opened, Seal, length_of
from ipmicra.overlay.live.lines import Lines, Lost
from ipmicra.overlay.live.spoken import AskStatus, AskToSubmit, AskWhoOwns, Question, Status

TICK_SECONDS = 0.5
JOIN_AGAIN_SECONDS = 5.0

Probe = Callable[[str], Awaitable[float | None]]
Heard = Callable[[], None]


async def no_probe(site: str) -> float | None:
    """Where nobody can time a round trip, coordinates decide."""
    return None


class Node:
    """One peer over sockets. `run` serves until it is cancelled, or until the peer has left."""

    def __init__(
        self,
        peer: Peer,
        space: Box,
        seal: Seal,
        probe: Probe = no_probe,
        on_change: Heard = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.peer = peer
        self.frames_refused = 0
        self.space = space
        self._seal = seal
        self._probe = probe
        self._on_change = on_change
        self._clock = clock
        self._answering = Answering(self)
        self._lines: Lines | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._readers: set[asyncio.Task[None]] = set()

    async def run(self, via: str | None, ready: Callable[[], object] = lambda: None) -> None:
        """Found the network, or join it through the peer at `via`; then take part."""
        host, _, port = self.peer.card.address.rpartition(":")
        server = await asyncio.start_server(self._listen, host.strip("[]"), int(port))
        async with server, asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._lines = Lines(tasks, self._sealed, self._lost)
            if via is None:
                self.peer.found()
            ready()
            try:
                await self._take_part(via)
                await asyncio.sleep(TICK_SECONDS)  # the last words are on their way
            finally:
                self._lines.close()
                for reader in self._readers:
                    reader.cancel()

    async def _take_part(self, via: str | None) -> None:
        join_at_s = 0.0
        while not self.peer.has_left:
            now_s = self._clock()
            way_in = self.peer.last_heard or (Card(PeerId(""), (), (), address=via) if via else None)
            if way_in is not None and not self.peer.zones and now_s >= join_at_s:
                join_at_s = now_s + JOIN_AGAIN_SECONDS
                self.send(self.peer.join(way_in))
            if self.peer.zones:
                self.send(self.peer.tick(now_s))
            await asyncio.sleep(TICK_SECONDS)

    def leave(self) -> None:
        self.send(self.peer.leave(self._clock()))

    # --- what goes out ------------------------------------------------------------------------

    def send(self, outgoing: list[Outgoing]) -> None:
        assert self._lines is not None, "the node is not running"
        for letter in outgoing:
            if letter.to.address == self.peer.card.address:
                asyncio.get_running_loop().call_soon(self.take_in, letter.message)
            elif letter.to.address:
                self._lines.send(letter)
        self._begin_probes()
        self._on_change()

    def _begin_probes(self) -> None:
        assert self._tasks is not None
        for wanted in self.peer.probes_wanted():
            self._tasks.create_task(self._answer(wanted))

    async def _answer(self, wanted: Measure) -> None:
        round_trip_ms = await self._probe(wanted.site)
        self.send(self.peer.probed(wanted, round_trip_ms))

    def _sealed(self, outgoing: Outgoing) -> bytes:
        return self._seal.sealed(outgoing.message, outgoing.to.address, self._clock())

    def _lost(self, lost: Lost) -> None:
        self.peer.unreached(lost.to.peer, self._clock())
        if lost.outgoing is not None:
            self.send(self.peer.undelivered(lost.outgoing, self._clock()))

    # --- what comes in ------------------------------------------------------------------------

    def take_in(self, message: Message) -> None:
        """A message of another peer's, or of my own to myself."""
        self._answering.noticed(message)
        self.send(self.peer.handle(message, self._clock()))

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._readers.add(task)
        try:
            while True:
                frame = await reader.readexactly(length_of(await reader.readexactly(4)))
                await self._heard(frame, writer)
        except HostFault:
            self.frames_refused += 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            self._readers.discard(task)
            writer.close()

    async def _heard(self, frame: bytes, writer: asyncio.StreamWriter) -> None:
        found = self._seal.opened(frame, self.peer.card.address, self._clock())
        match found.message:
            case AskStatus() | AskToSubmit() | AskWhoOwns() as question:
                await self._replied(question, found, writer)
            case Status():
                raise HostFault("a status that nobody asked for")
            case message:
                self.take_in(message)

    async def _replied(self, question: Question, found: Opened, writer: asyncio.StreamWriter) -> None:
        answer = await self._answering.answer(question)
        writer.write(self._seal.sealed(answer, found.mark, self._clock()))
        await writer.drain()
