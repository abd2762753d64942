"""Strangers who connect to a peer: few, small, soon over; and peers are served meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from ipmicra.errors import PeerFault
from ipmicra.model.ids import SiteEpoch
from ipmicra.model.zones import ZoneBox
from ipmicra.overlay.can.peer import Peer
from ipmicra.overlay.can.rules import PeerRules
from ipmicra.overlay.live import connection_limits
from ipmicra.overlay.live.node import Node
from ipmicra.overlay.live.rpc_client import request_reply, status_of
from ipmicra.protocol.overlay_frames import FRAME_BYTES_MAX, STRANGER_BYTES_MAX, FrameCodec
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from ipmicra.protocol.overlay_rpc import TransferChunk
from tests.coordinator.coordinator_process import free_port

SPACE = ZoneBox((-1.0,), (1.0,))
CODEC = FrameCodec(b"only for this test")
Story = Callable[[Node, str], Awaitable[None]]


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[tuple[Node, str]]:
    address, ready = f"127.0.0.1:{free_port()}", asyncio.Event()
    node = Node(
        Peer(PeerDescriptor(PeerId("a"), (0.0,), (), address=address), SPACE, PeerRules()), SPACE, CODEC
    )
    task = asyncio.create_task(node.run(None, ready.set))
    try:
        await ready.wait()
        yield node, address
    finally:
        task.cancel()
        await asyncio.wait([task])


def play(story: Story) -> None:
    async def played() -> None:
        async with running() as (node, address):
            await story(node, address)

    asyncio.run(played())


async def half_a_frame(address: str, length: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(struct.pack(">I", length) + b"x" * min(length // 2, 1 << 16))
    return reader, writer


async def is_closed(reader: asyncio.StreamReader) -> bool:
    with contextlib.suppress(OSError):
        return await reader.read() == b""
    return True


def test_a_stranger_cannot_announce_a_large_frame() -> None:
    async def story(node: Node, address: str) -> None:
        for length in (STRANGER_BYTES_MAX + 1, FRAME_BYTES_MAX):
            reader, writer = await half_a_frame(address, length)
            assert await is_closed(reader), "before its bytes were read"
            writer.close()
        assert node.frames_refused == 2

    play(story)


def test_strangers_with_half_frames_push_out_each_other_and_peers_are_served() -> None:
    async def story(node: Node, address: str) -> None:
        strangers = [await half_a_frame(address, STRANGER_BYTES_MAX) for _ in range(200)]
        assert (await status_of(address, CODEC)).descriptor.peer == "a"
        assert len(node.stranger_limits) <= connection_limits.STRANGERS_MAX
        for _, writer in strangers:
            writer.close()

    play(story)


def test_a_stranger_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "STRANGER_SECONDS_MAX", 0.1)
    monkeypatch.setattr(connection_limits, "FRAME_SECONDS_MAX", 3_600.0)

    async def story(node: Node, address: str) -> None:
        reader, writer = await half_a_frame(address, 1_000)
        async with asyncio.timeout(20):
            assert await is_closed(reader)
        writer.close()

    play(story)


def test_a_peer_may_begin_with_a_large_frame() -> None:
    async def story(node: Node, address: str) -> None:
        data = bytes(2 * STRANGER_BYTES_MAX)
        chunk = TransferChunk("package", PeerId("b"), "", SiteEpoch(0), 0, 1, data)
        with pytest.raises(PeerFault, match="neither crawls nor stores"):
            await request_reply(address, CODEC, chunk, 20.0)
        assert node.frames_refused == 0

    play(story)
