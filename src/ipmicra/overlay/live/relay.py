"""Peers that cannot be reached from outside -> reachable through one that can.

The unreachable peer keeps a connection open to a reachable one, its relay. Who writes to
`relay's address/name` connects to the relay, which hands each frame on over that connection, and each
answer back. The relay cannot change what it carries: frames are sealed to the address with the name.
When the relay is gone the peer looks for another and tells its neighbours its new address.

Law: a relay forgets a peer with its connection; what comes for one that is not there ends the sender's
connection, which then knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable

from ipmicra.errors import HostFault
from ipmicra.overlay.live.connections import CONNECT_SECONDS_MAX, opened
from ipmicra.protocol.overlay_frames import MAC_BYTES, FrameCodec, length_of
from ipmicra.protocol.overlay_messages import PeerId
from ipmicra.protocol.overlay_rpc import Attach, Attached, RelayedFrame

LOOK_AGAIN_SECONDS = 1.0

Reply = Callable[[bytes], Awaitable[None]]
HearFrame = Callable[[bytes, Reply], Awaitable[None]]


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame without its length. Raises IncompleteReadError at the end."""
    return await reader.readexactly(length_of(await reader.readexactly(4)))


class Relay:
    """The reachable side: who is attached here."""

    def __init__(self, address: str, seal: FrameCodec) -> None:
        self._address, self._seal = address, seal
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

    async def hand_on(self, receiver: str, frame: bytes, reply: Reply, channel: int | None) -> int:
        """A frame for an attached peer. Returns the channel on which answers come back to `reply`."""
        writer = self._attached.get(receiver)
        if writer is None or writer.is_closing():
            raise HostFault(f"{receiver} is not attached here")
        number = next(self._numbers) if channel is None else channel
        self._channels[number] = reply
        writer.write(self._seal.sealed(RelayedFrame(number, frame), receiver, time.time()))
        await writer.drain()
        return number

    async def handed_back(self, carried: RelayedFrame) -> None:
        reply = self._channels.get(carried.channel)
        if reply is not None:
            await reply(carried.frame)

    def close_channel(self, channel: int | None) -> None:
        if channel is not None:
            self._channels.pop(channel, None)

    def detach(self, writer: asyncio.StreamWriter) -> None:
        for address in [a for a, attached in self._attached.items() if attached is writer]:
            del self._attached[address]


class RelayClient:
    """The unreachable side: one relay at a time."""

    def __init__(self, name: PeerId, seal: FrameCodec, hear: HearFrame) -> None:
        self._name, self._seal, self._hear = name, seal, hear
        self.address = ""

    async def run(self, candidates: Callable[[], Iterable[str]], moved: Callable[[str], None]) -> None:
        """Be attached somewhere, as long as anybody answers; `moved` hears of every new address."""
        while True:
            for relay in list(candidates()):
                try:
                    await self._attached_to(relay, moved)
                except (OSError, HostFault, asyncio.IncompleteReadError):
                    continue
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _attached_to(self, relay: str, moved: Callable[[str], None]) -> None:
        """Until the connection ends, which raises."""
        reader, writer = await opened(relay)
        try:
            question = self._seal.sealed(Attach(self._name), relay, time.time())
            writer.write(question)
            mark = question[4 : 4 + MAC_BYTES].hex()
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                answer = self._seal.opened(await read_frame(reader), mark, time.time()).message
            if not isinstance(answer, Attached):
                raise HostFault(f"{relay} relays for nobody")
            self.address = answer.address
            moved(answer.address)
            while True:
                carried = self._seal.opened(await read_frame(reader), self.address, time.time()).message
                if isinstance(carried, RelayedFrame):
                    with contextlib.suppress(HostFault):  # a frame that is not for me ends nothing
                        await self._hear(carried.frame, self._reply_on(carried.channel, relay, writer))
        finally:
            writer.close()

    def _reply_on(self, channel: int, relay: str, writer: asyncio.StreamWriter) -> Reply:
        async def reply(frame: bytes) -> None:
            writer.write(self._seal.sealed(RelayedFrame(channel, frame), relay, time.time()))
            await writer.drain()

        return reply
