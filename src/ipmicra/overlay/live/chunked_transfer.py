"""Packages and site states for another peer -> chunks that fit a frame, and back.

Invariant: a transfer is complete when the receiver has acknowledged its last chunk; the receiver does so when
the data is durable. Transfers that never become complete are dropped, the oldest first.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ipmicra.errors import PeerFault
from ipmicra.model.ids import SiteEpoch
from ipmicra.overlay.live.rpc_client import request_reply
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerId
from ipmicra.protocol.overlay_rpc import RpcKind, StoreAck, TransferChunk

CHUNK_BYTES_MAX = 4 << 20
CHUNK_SECONDS_MAX = 20.0
UNFINISHED_MAX = 100  # transfers with missing chunks; beyond this the oldest is dropped

Receive = Callable[[TransferChunk, bytes], Awaitable[None]]


async def send_in_chunks(
    address: str,
    codec: FrameCodec,
    sender: PeerId,
    kind: RpcKind,
    site: str,
    epoch: SiteEpoch,
    data: bytes,
) -> None:
    """Send data to a peer; durable there on return. Raises PeerFault if that failed."""
    parts = [data[at : at + CHUNK_BYTES_MAX] for at in range(0, len(data), CHUNK_BYTES_MAX)] or [b""]
    for number, part in enumerate(parts):
        chunk = TransferChunk(kind, sender, site, epoch, number, len(parts), part)
        answer = await request_reply(address, codec, chunk, CHUNK_SECONDS_MAX)
        if not isinstance(answer, StoreAck):
            raise PeerFault(f"{address} did not store a {kind} of {len(data)} bytes")


class ChunkedTransfer:
    """Reassembles incoming chunks."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._unfinished: dict[tuple[PeerId, RpcKind, str, int], list[bytes]] = {}

    async def on_chunk(self, chunk: TransferChunk) -> StoreAck:
        key = (chunk.sender, chunk.kind, chunk.site, chunk.epoch)
        parts = [] if chunk.part == 0 else self._unfinished.pop(key, [])
        if len(parts) != chunk.part:
            raise PeerFault(f"chunk {chunk.part} of a {chunk.kind} arrived without those before it")
        parts.append(chunk.data)
        if len(parts) == chunk.parts:
            await self._receive(chunk, b"".join(parts))
        else:
            self._unfinished[key] = parts
            while len(self._unfinished) > UNFINISHED_MAX:
                del self._unfinished[next(iter(self._unfinished))]
        return StoreAck()
