"""An operator's question -> a running peer, and its answer."""

from __future__ import annotations

import asyncio
import time

from ipmicra.errors import HostFault
from ipmicra.model.search import SearchRequest
from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.live.connections import opened
from ipmicra.protocol.overlay_frames import MAC_BYTES, FrameCodec, length_of
from ipmicra.protocol.overlay_messages import LocateReply, PeerId, SiteRecord, SubmitAck
from ipmicra.protocol.overlay_rpc import (
    GetStatus,
    LocateKey,
    PeerStatus,
    RpcError,
    RpcRequest,
    SearchAll,
    SearchReply,
    SubmitSite,
    WireMessage,
)

SECONDS_MAX = 5.0
SUBMITTING_SECONDS_MAX = 30.0
SEARCHING_SECONDS_MAX = 10.0


async def status_of(address: str, seal: FrameCodec) -> PeerStatus:
    """What the peer at this address says of itself."""
    answer = await asked(address, seal, GetStatus(), SECONDS_MAX)
    if not isinstance(answer, PeerStatus):
        raise HostFault(f"{address} answered something else than its status")
    return answer


async def everybody(address: str, seal: FrameCodec, at_once_max: int = 16) -> list[PeerStatus]:
    """The status of all peers that can be found, from neighbour to neighbour; who is silent is left out."""
    found: dict[PeerId, PeerStatus] = {}
    waiting, met = [address], {address}
    while waiting:
        asking, waiting = waiting[:at_once_max], waiting[at_once_max:]
        answers = await asyncio.gather(*(_status_or_fault(one, seal) for one in asking))
        for status in answers:
            if isinstance(status, HostFault):
                continue
            found[status.card.peer] = status
            new = {card.address for card in status.neighbours if card.address} - met
            waiting += sorted(new)
            met |= new
    if not found:
        raise HostFault(
            f"the peer at {address} did not answer; does it run, with this network's secret?"
        )
    return [found[peer] for peer in sorted(found)]


async def _status_or_fault(address: str, seal: FrameCodec) -> PeerStatus | HostFault:
    try:
        return await status_of(address, seal)
    except HostFault as fault:
        return fault


async def submit(
    site: str, point: SpacePoint | None, space: ZoneBox, address: str, seal: FrameCodec
) -> None:
    """Give a site to any peer; on return its home has it. Without a point peers place it by probes."""
    record = None if point is None else SiteRecord(site, key_in(space, point), point)
    answer = await asked(address, seal, SubmitSite(site, record), SUBMITTING_SECONDS_MAX)
    if not isinstance(answer, SubmitAck):
        raise HostFault(f"{address} answered something else than that {site} is home")


async def who_owns(key: SpacePoint, address: str, seal: FrameCodec) -> LocateReply:
    """The owner of a place, found by way of any peer."""
    answer = await asked(address, seal, LocateKey(key), SECONDS_MAX)
    if not isinstance(answer, LocateReply):
        raise HostFault(f"{address} answered something else than who owns {key}")
    return answer


async def search(request: SearchRequest, address: str, seal: FrameCodec) -> SearchReply:
    """What the network finds, asked by way of any peer."""
    answer = await asked(address, seal, SearchAll(request), SEARCHING_SECONDS_MAX)
    if not isinstance(answer, SearchReply):
        raise HostFault(f"{address} answered something else than what it found")
    return answer


async def asked(address: str, seal: FrameCodec, question: RpcRequest, seconds_max: float) -> WireMessage:
    """One question over a connection of its own. Raises HostFault where no answer comes."""
    try:
        async with asyncio.timeout(seconds_max):
            reader, writer = await opened(address)
            try:
                frame = seal.sealed(question, address, time.time())
                writer.write(frame)
                await writer.drain()
                answer = await reader.readexactly(length_of(await reader.readexactly(4)))
                mark = frame[4 : 4 + MAC_BYTES].hex()
                return _unless_sorry(seal.opened(answer, mark, time.time()).message, address)
            finally:
                writer.close()
    except (OSError, asyncio.IncompleteReadError) as error:
        raise HostFault(
            f"the peer at {address} did not answer ({error!r}); does it run, with this network's secret?"
        ) from None


def _unless_sorry(answer: WireMessage, address: str) -> WireMessage:
    if isinstance(answer, RpcError):
        raise HostFault(f"the peer at {address} says: {answer.why}")
    return answer
