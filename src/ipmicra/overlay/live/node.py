"""A peer and its sockets -> a peer that takes part in the network.

One event loop: messages are handled one after the other, with ticks between them. A reachable peer listens
and relays for others; an unreachable one receives through a relay.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator

from ipmicra.errors import Fault, PeerFault
from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.live.connection_limits import StrangerLimits
from ipmicra.overlay.live.connections import ConnectionLost, PeerConnections
from ipmicra.overlay.live.crawl_service import PeerCrawlService
from ipmicra.overlay.live.relay import Relay, RelayClient, Reply
from ipmicra.overlay.live.rpc_server import RpcServer
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import Measure, Outgoing, PeerDescriptor, PeerId, PeerMessage
from ipmicra.protocol.overlay_rpc import (
    ANSWERS,
    QUESTIONS,
    Attach,
    Hello,
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
    """Without a probe, coordinates decide."""
    return None


class Node:
    """One peer over sockets. `run` serves until it is cancelled, or until the peer has left.

    A descriptor without an address belongs to an unreachable peer: it looks for a relay.
    """

    def __init__(
        self,
        peer: Peer,
        space: ZoneBox,
        codec: FrameCodec,
        probe: ProbeRoundTrip = no_probe,
        crawl_service: PeerCrawlService | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.peer, self.space, self.codec = peer, space, codec
        self.crawl_service = crawl_service
        self.frames_refused = 0
        self.probe = probe
        self.clock = clock
        self._rpc = RpcServer(self)
        self._relay = Relay(peer.descriptor.address, codec)
        self.stranger_limits = StrangerLimits()
        self._connections: PeerConnections | None = None
        self._tasks: asyncio.TaskGroup | None = None
        self._readers: set[asyncio.Task[None]] = set()

    async def run(self, via: str | None, ready: Callable[[], object] = lambda: None) -> None:
        """Create the network, or join it through the peer at `via`; then take part."""
        async with contextlib.AsyncExitStack() as stack:
            relay_client = (
                None
                if self.peer.descriptor.address
                else RelayClient(self.peer.id, self.codec, self.on_frame)
            )
            stack.push_async_callback(self._close_readers)
            if relay_client is None:
                host, _, port = self.peer.descriptor.address.rpartition(":")
                listening = await asyncio.start_server(self._listen, host.strip("[]"), int(port))
                await stack.enter_async_context(listening)
            tasks = self._tasks = await stack.enter_async_context(asyncio.TaskGroup())
            self._connections = PeerConnections(tasks, self._encode, self._on_lost)
            if via is None:
                self.peer.create_network()
            ready()
            await self._take_part(tasks, via, relay_client)

    async def _take_part(
        self, tasks: asyncio.TaskGroup, via: str | None, relay_client: RelayClient | None
    ) -> None:
        assert self._connections is not None
        helping = []
        if relay_client is not None:
            helping.append(
                tasks.create_task(
                    relay_client.run(lambda: self._relay_candidates(via), self._on_new_address)
                )
            )
        if self.crawl_service is not None:
            helping.append(tasks.create_task(self.crawl_service.run(self.clock)))
            helping.append(tasks.create_task(self._rpc.submit_discovered(self.crawl_service.discovered)))
        try:
            await self._tick_until_left(via)
            await asyncio.sleep(TICK_SECONDS)  # the last messages are being written
        finally:
            self._connections.close()
            for task in helping:
                task.cancel()

    async def _close_readers(self) -> None:
        """Close the readers when no new connection can arrive any more."""
        for reader in self._readers:
            reader.cancel()
        if self._readers:
            await asyncio.wait(self._readers)
        await asyncio.sleep(0)  # lets closed transports finish

    async def _tick_until_left(self, via: str | None) -> None:
        join_at_s = 0.0
        while not (self.peer.has_left and (self.crawl_service is None or self.crawl_service.is_done)):
            now_s = self.clock()
            way_in = self.peer.last_contact or (
                PeerDescriptor(PeerId(""), (), (), address=via) if via else None
            )
            if self.peer.zones:
                self.send(self.peer.tick(now_s))
            elif (
                way_in and self.peer.descriptor.address and not self.peer.has_left and now_s >= join_at_s
            ):
                join_at_s = now_s + JOIN_AGAIN_SECONDS
                self.send(self.peer.join(way_in))
            await asyncio.sleep(TICK_SECONDS)

    @property
    def is_running(self) -> bool:
        """Whether it has begun to send messages."""
        return self._connections is not None

    def leave(self) -> None:
        self.send(self.peer.leave(self.clock()))

    # --- being relayed ------------------------------------------------------------------------

    def _relay_candidates(self, via: str | None) -> Iterator[str]:
        """Reachable peers: those nearby, and the one we joined through."""
        yield from (one.address for one in self.peer.nearby() if "/" not in one.address)
        if via is not None:
            yield via

    def _on_new_address(self, address: str) -> None:
        self.send(self.peer.change_address(address))

    # --- sending ------------------------------------------------------------------------------

    def send(self, messages: list[Outgoing]) -> None:
        assert self._connections is not None, "the node is not running"
        for outgoing in messages:
            if outgoing.to.address == self.peer.descriptor.address:
                asyncio.get_running_loop().call_soon(self.on_message, outgoing.message)
            elif outgoing.to.address:
                self._connections.send(outgoing)
        self._begin_probes()

    def _begin_probes(self) -> None:
        assert self._tasks is not None
        for wanted in self.peer.take_wanted_probes():
            self._tasks.create_task(self._probe_site(wanted))

    async def _probe_site(self, wanted: Measure) -> None:
        round_trip_ms = await self.probe(wanted.site)
        self.send(self.peer.on_probed(wanted, round_trip_ms))

    def _encode(self, outgoing: Outgoing) -> bytes:
        frame = self.codec.encode(outgoing.message, outgoing.to.address, self.clock())
        return self.codec.first(frame, outgoing.to.address, self.clock())

    def _on_lost(self, lost: ConnectionLost) -> None:
        self.peer.on_unreachable(lost.to.peer, self.clock())
        if lost.outgoing is not None:
            self.send(self.peer.on_undelivered(lost.outgoing, self.clock()))

    # --- receiving ----------------------------------------------------------------------------

    def on_message(self, message: PeerMessage) -> None:
        """A message from another peer, or from ourselves."""
        self._rpc.on_message(message)
        self.send(self.peer.handle(message, self.clock()))

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task, channel = asyncio.current_task(), None
        assert task is not None
        self._readers.add(task)

        async def reply(frame: bytes) -> None:
            writer.write(frame)
            await writer.drain()

        try:
            self.stranger_limits.on_opened(writer)
            while True:
                frame = await self.stranger_limits.read_frame(reader, writer, self._relay.has(writer))
                receiver = self.codec.receiver(frame)
                self.stranger_limits.on_authenticated(writer)
                if self._relay.is_for_attached(receiver):
                    channel = await self._relay.forward(receiver, frame, reply, channel)
                else:
                    await self.on_frame(frame, reply, writer)
        except PeerFault:
            self.frames_refused += 1
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            self.stranger_limits.on_closed(writer)
            self._readers.discard(task)
            self._relay.close_channel(channel)
            self._relay.detach(writer)
            writer.close()

    async def on_frame(
        self, frame: bytes, reply: Reply, writer: asyncio.StreamWriter | None = None
    ) -> None:
        """One frame for this peer."""
        decoded = self.codec.decode(frame, self.peer.descriptor.address, self.clock())
        message = decoded.message
        if isinstance(message, Attach):
            if writer is None:
                raise PeerFault("an unreachable peer cannot relay")
            attached = self._relay.attach(message.name, writer)
            await reply(self.codec.encode(attached, decoded.mark, self.clock()))
        elif isinstance(message, RelayedFrame):
            await self._relay.return_reply(message)
        elif isinstance(message, QUESTIONS):
            replying = self._reply_to(message, decoded.mark, reply)
            if writer is not None:
                await replying
            else:  # the relay's only connection, on which other requests wait
                assert self._tasks is not None
                self._tasks.create_task(replying)
        elif isinstance(message, Hello):
            pass
        elif isinstance(message, ANSWERS):
            raise PeerFault("a reply without a request")
        else:
            self.on_message(message)

    async def _reply_to(self, question: RpcRequest, mark: str, reply: Reply) -> None:
        answer: RpcReply | RpcError
        try:
            answer = await self._rpc.answer(question)
        except Fault as fault:
            answer = RpcError(str(fault))
        with contextlib.suppress(OSError):
            await reply(self.codec.encode(answer, mark, self.clock()))
