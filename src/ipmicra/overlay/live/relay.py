"""Peers that cannot be reached from outside -> reachable through a peer that can.

The unreachable peer keeps a connection open to a reachable one, its relay. A sender to
`relay's address/name` connects to the relay, which forwards each frame over that connection, and each reply
back. The relay cannot change what it forwards: frames are authenticated for the full address with the name.
When the relay is gone the peer looks for another one and tells its neighbours the new address.

Invariant: a relay drops a peer together with its connection; a frame for a peer that is not attached ends
the sender's connection, which informs the sender.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable

from ipmicra.errors import PeerFault
from ipmicra.overlay.live.connections import CONNECT_SECONDS_MAX, open_connection
from ipmicra.protocol.overlay_frames import MAC_BYTES, FrameCodec, length_of
from ipmicra.protocol.overlay_messages import PeerId
from ipmicra.protocol.overlay_rpc import Attach, Attached, RelayedFrame

RETRY_SECONDS = 1.0

Reply = Callable[[bytes], Awaitable[None]]
OnFrame = Callable[[bytes, Reply], Awaitable[None]]


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame without its length prefix. Raises IncompleteReadError at the end."""
    return await reader.readexactly(length_of(await reader.readexactly(4)))


class Relay:
    """The reachable side: the attached peers."""

    def __init__(self, address: str, codec: FrameCodec) -> None:
        self._address, self._codec = address, codec
        self._attached: dict[str, asyncio.StreamWriter] = {}
        self._channels: dict[int, Reply] = {}
        self._numbers = itertools.count()

    def address_of(self, name: PeerId) -> str:
        return f"{self._address}/{name}"

    def attach(self, name: PeerId, writer: asyncio.StreamWriter) -> Attached:
        self._attached[self.address_of(name)] = writer
        return Attached(self.address_of(name))

    def is_for_attached(self, receiver: str) -> bool:
        return receiver.startswith(f"{self._address}/")

    async def forward(self, receiver: str, frame: bytes, reply: Reply, channel: int | None) -> int:
        """Forward a frame to an attached peer. Returns the channel on which replies come to `reply`."""
        writer = self._attached.get(receiver)
        if writer is None or writer.is_closing():
            raise PeerFault(f"{receiver} is not attached here")
        number = next(self._numbers) if channel is None else channel
        self._channels[number] = reply
        writer.write(self._codec.encode(RelayedFrame(number, frame), receiver, time.time()))
        await writer.drain()
        return number

    async def return_reply(self, relayed: RelayedFrame) -> None:
        """Pass an attached peer's reply to the sender of the request."""
        reply = self._channels.get(relayed.channel)
        if reply is not None:
            await reply(relayed.frame)

    def close_channel(self, channel: int | None) -> None:
        if channel is not None:
            self._channels.pop(channel, None)

    def has(self, writer: asyncio.StreamWriter) -> bool:
        """Whether a peer is attached on this connection; it may be silent for long."""
        return any(attached is writer for attached in self._attached.values())

    def detach(self, writer: asyncio.StreamWriter) -> None:
        for address in [a for a, attached in self._attached.items() if attached is writer]:
            del self._attached[address]


class RelayClient:
    """The unreachable side: attached to one relay at a time."""

    def __init__(self, name: PeerId, codec: FrameCodec, on_frame: OnFrame) -> None:
        self._name, self._codec, self._on_frame = name, codec, on_frame
        self.address = ""

    async def run(
        self, candidates: Callable[[], Iterable[str]], on_address: Callable[[str], None]
    ) -> None:
        """Stay attached to one of the candidates; `on_address` receives every new address."""
        while True:
            for relay in list(candidates()):
                try:
                    await self._serve_through(relay, on_address)
                except (OSError, PeerFault, asyncio.IncompleteReadError):
                    continue
            await asyncio.sleep(RETRY_SECONDS)

    async def _serve_through(self, relay: str, on_address: Callable[[str], None]) -> None:
        """Receive through one relay until the connection ends, which raises."""
        reader, writer = await open_connection(relay)
        try:
            question = self._codec.encode(Attach(self._name), relay, time.time())
            writer.write(question)
            mark = question[4 : 4 + MAC_BYTES].hex()
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                answer = self._codec.decode(await read_frame(reader), mark, time.time()).message
            if not isinstance(answer, Attached):
                raise PeerFault(f"{relay} does not relay")
            self.address = answer.address
            on_address(answer.address)
            while True:
                relayed = self._codec.decode(await read_frame(reader), self.address, time.time()).message
                if isinstance(relayed, RelayedFrame):
                    with contextlib.suppress(PeerFault):  # one bad frame does not end the connection
                        await self._on_frame(
                            relayed.frame, self._reply_on(relayed.channel, relay, writer)
                        )
        finally:
            writer.close()

    def _reply_on(self, channel: int, relay: str, writer: asyncio.StreamWriter) -> Reply:
        async def reply(frame: bytes) -> None:
            writer.write(self._codec.encode(RelayedFrame(channel, frame), relay, time.time()))
            await writer.drain()

        return reply
