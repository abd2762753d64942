"""Packages and states for another peer -> parcels in parts that fit a frame, and back.

Law: a parcel counts when the receiver has answered its last part; the receiver answers that when what
came is durable. Parts that never become whole are forgotten after a while.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ipmicra.errors import HostFault
from ipmicra.overlay.live.rpc_client import asked
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_messages import PeerId
from ipmicra.protocol.overlay_rpc import RpcKind, StoreAck, TransferChunk

PART_BYTES_MAX = 4 << 20
PART_SECONDS_MAX = 20.0
UNFINISHED_MAX = 100  # parcels of which parts are missing; the oldest is forgotten

Receive = Callable[[TransferChunk, bytes], Awaitable[None]]


async def sent(
    address: str, seal: FrameCodec, sender: PeerId, kind: RpcKind, site: str, epoch: int, data: bytes
) -> None:
    """Give a peer a parcel; durable there on return. Raises HostFault where that failed."""
    parts = [data[at : at + PART_BYTES_MAX] for at in range(0, len(data), PART_BYTES_MAX)] or [b""]
    for number, part in enumerate(parts):
        parcel = TransferChunk(kind, sender, site, epoch, number, len(parts), part)
        answer = await asked(address, seal, parcel, PART_SECONDS_MAX)
        if not isinstance(answer, StoreAck):
            raise HostFault(f"{address} did not keep a {kind} of {len(data)} bytes")


class ChunkedTransfer:
    """Puts parts together that come in."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._parts: dict[tuple[PeerId, RpcKind, str, int], list[bytes]] = {}

    async def came(self, parcel: TransferChunk) -> StoreAck:
        key = (parcel.sender, parcel.kind, parcel.site, parcel.epoch)
        parts = [] if parcel.part == 0 else self._parts.pop(key, [])
        if len(parts) != parcel.part:
            raise HostFault(f"part {parcel.part} of a {parcel.kind} came without those before it")
        parts.append(parcel.data)
        if len(parts) == parcel.parts:
            await self._receive(parcel, b"".join(parts))
        else:
            self._parts[key] = parts
            while len(self._parts) > UNFINISHED_MAX:
                del self._parts[next(iter(self._parts))]
        return StoreAck()
