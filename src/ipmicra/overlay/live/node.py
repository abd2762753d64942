"""A peer and its sockets -> a peer that takes part.

One event loop: messages are handled one after the other, ticks come between them. A peer that can be
reached listens and relays for others; one that cannot hears through a relay.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator

from ipmicra.errors import HostFault
from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.live.connections import ConnectionLost, PeerConnections
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.relay import Relay, RelayClient, Reply, read_frame
from ipmicra.overlay.live.rpc_server import RpcServer
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import Measure, Outgoing, PeerDescriptor, PeerId, PeerMessage
from ipmicra.protocol.overlay_rpc import (
    ANSWERS,
    QUESTIONS,
    Attach,
    RelayedFrame,
    RpcError,
    RpcReply,
    RpcRequest,
)

TICK_SECONDS = 0.5
JOIN_AGAIN_SECONDS = 5.0
LEAVING_SECONDS_MAX = 20.0

ProbeRoundTrip = Callable[[str], Awaitable[float | None]]


async def no_probe(site: str) -> float | None:
    """Where nobody can time a round trip, coordinates decide."""
    return None


class Node:
    """One peer over sockets. `run` serves until it is cancelled, or until the peer has left.

    A card without an address is a peer that cannot be reached: it finds itself a relay.
    """

    def __init__(
        self,
        peer: Peer,
        space: ZoneBox,
        seal: FrameCodec,
        probe: ProbeRoundTrip = no_probe,
        household: PeerCrawlService | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.peer, self.space, self.seal = peer, space, seal
        self.household = household
        self.frames_refused = 0
        self.probe = probe
        self.clock = clock
        self._answering = RpcServer(self)
        self._relay = Relay(peer.card.address, seal)
        self._lines: PeerConnections | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._readers: set[asyncio.Task[None]] = set()

    async def run(self, via: str | None, ready: Callable[[], object] = lambda: None) -> None:
        """Found the network, or join it through the peer at `via`; then take part."""
        async with contextlib.AsyncExitStack() as stack:
            outlet = None if self.peer.card.address else RelayClient(self.peer.id, self.seal, self.hear)
            stack.push_async_callback(self._hang_up)
            if outlet is None:
                host, _, port = self.peer.card.address.rpartition(":")
                listening = await asyncio.start_server(self._listen, host.strip("[]"), int(port))
                await stack.enter_async_context(listening)
            tasks = self._tasks = await stack.enter_async_context(asyncio.TaskGroup())
            self._lines = PeerConnections(tasks, self._sealed, self._lost)
            if via is None:
                self.peer.found()
            ready()
            await self._take_part(tasks, via, outlet)

    async def _take_part(
        self, tasks: asyncio.TaskGroup, via: str | None, outlet: RelayClient | None
    ) -> None:
        assert self._lines is not None
        helping = []
        if outlet is not None:
            helping.append(tasks.create_task(outlet.run(lambda: self._relays(via), self._moved)))
        if self.household is not None:
            helping.append(tasks.create_task(self.household.run(self.clock)))
            helping.append(tasks.create_task(self._answering.submit_found(self.household.found)))
        try:
            await self._tick_on(via)
            await asyncio.sleep(TICK_SECONDS)  # the last words are on their way
        finally:
            self._lines.close()
            for task in helping:
                task.cancel()

    async def _hang_up(self) -> None:
        """The last thing, when nobody can call any more."""
        for reader in self._readers:
            reader.cancel()
        if self._readers:
            await asyncio.wait(self._readers)
        await asyncio.sleep(0)  # what was closed is let go of a moment later

    async def _tick_on(self, via: str | None) -> None:
        join_at_s = 0.0
        while not (self.peer.has_left and (self.household is None or self.household.is_done)):
            now_s = self.clock()
            way_in = self.peer.last_heard or (
                PeerDescriptor(PeerId(""), (), (), address=via) if via else None
            )
            if self.peer.zones:
                self.send(self.peer.tick(now_s))
            elif way_in and self.peer.card.address and not self.peer.has_left and now_s >= join_at_s:
                join_at_s = now_s + JOIN_AGAIN_SECONDS
                self.send(self.peer.join(way_in))
            await asyncio.sleep(TICK_SECONDS)

    @property
    def is_heard(self) -> bool:
        """Whether it has begun to speak to others."""
        return self._lines is not None

    def leave(self) -> None:
        self.send(self.peer.leave(self.clock()))

    # --- being relayed ------------------------------------------------------------------------

    def _relays(self, via: str | None) -> Iterator[str]:
        """Who can be reached: whoever I know, and the one I came by."""
        yield from (card.address for card in self.peer.around() if "/" not in card.address)
        if via is not None:
            yield via

    def _moved(self, address: str) -> None:
        self.send(self.peer.readdressed(address))

    # --- what goes out ------------------------------------------------------------------------

    def send(self, outgoing: list[Outgoing]) -> None:
        assert self._lines is not None, "the node is not running"
        for letter in outgoing:
            if letter.to.address == self.peer.card.address:
                asyncio.get_running_loop().call_soon(self.take_in, letter.message)
            elif letter.to.address:
                self._lines.send(letter)
        self._begin_probes()

    def _begin_probes(self) -> None:
        assert self._tasks is not None
        for wanted in self.peer.probes_wanted():
            self._tasks.create_task(self._answer(wanted))

    async def _answer(self, wanted: Measure) -> None:
        round_trip_ms = await self.probe(wanted.site)
        self.send(self.peer.probed(wanted, round_trip_ms))

    def _sealed(self, outgoing: Outgoing) -> bytes:
        return self.seal.sealed(outgoing.message, outgoing.to.address, self.clock())

    def _lost(self, lost: ConnectionLost) -> None:
        self.peer.unreached(lost.to.peer, self.clock())
        if lost.outgoing is not None:
            self.send(self.peer.undelivered(lost.outgoing, self.clock()))

    # --- what comes in ------------------------------------------------------------------------

    def take_in(self, message: PeerMessage) -> None:
        """A message of another peer's, or of my own to myself."""
        self._answering.noticed(message)
        self.send(self.peer.handle(message, self.clock()))

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, channel = asyncio.current_task(), None
        assert task is not None
        self._readers.add(task)

        async def reply(frame: bytes) -> None:
            writer.write(frame)
            await writer.drain()

        try:
            while True:
                frame = await read_frame(reader)
                receiver = self.seal.receiver(frame)
                if self._relay.is_for_attached(receiver):
                    channel = await self._relay.hand_on(receiver, frame, reply, channel)
                else:
                    await self.hear(frame, reply, writer)
        except HostFault:
            self.frames_refused += 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            self._readers.discard(task)
            self._relay.close_channel(channel)
            self._relay.detach(writer)
            writer.close()

    async def hear(self, frame: bytes, reply: Reply, writer: asyncio.StreamWriter | None = None) -> None:
        """One frame for me."""
        found = self.seal.opened(frame, self.peer.card.address, self.clock())
        message = found.message
        if isinstance(message, Attach):
            if writer is None:
                raise HostFault("a peer that cannot be reached relays for nobody")
            attached = self._relay.attach(message.name, writer)
            await reply(self.seal.sealed(attached, found.mark, self.clock()))
        elif isinstance(message, RelayedFrame):
            await self._relay.handed_back(message)
        elif isinstance(message, QUESTIONS):
            replying = self._replied(message, found.mark, reply)
            if writer is not None:
                await replying
            else:  # through the relay's one connection, where others wait
                assert self._tasks is not None
                self._tasks.create_task(replying)
        elif isinstance(message, ANSWERS):
            raise HostFault("an answer that nobody asked for")
        else:
            self.take_in(message)

    async def _replied(self, question: RpcRequest, mark: str, reply: Reply) -> None:
        answer: RpcReply | RpcError
        try:
            answer = await self._answering.answer(question)
        except HostFault as fault:
            answer = RpcError(str(fault))
        with contextlib.suppress(OSError):
            await reply(self.seal.sealed(answer, mark, self.clock()))
