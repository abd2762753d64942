"""A request to a running peer -> its reply.

Invariant: every failure to get the expected reply is a PeerFault that names the peer.
"""

from __future__ import annotations

import asyncio
import time

from ipmicra.errors import PeerFault
from ipmicra.model.search import SearchRequest
from ipmicra.model.zones import SpacePoint, ZoneBox, key_in
from ipmicra.overlay.live.connections import open_connection
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


async def status_of(address: str, codec: FrameCodec) -> PeerStatus:
    """The status of the peer at this address."""
    answer = await request_reply(address, codec, GetStatus(), SECONDS_MAX)
    if not isinstance(answer, PeerStatus):
        raise PeerFault(f"unexpected reply from {address} to a status request")
    return answer


async def all_statuses(address: str, codec: FrameCodec, at_once_max: int = 16) -> list[PeerStatus]:
    """The status of all peers, followed from neighbour to neighbour; peers that do not answer are omitted."""
    found: dict[PeerId, PeerStatus] = {}
    waiting, met = [address], {address}
    while waiting:
        asking, waiting = waiting[:at_once_max], waiting[at_once_max:]
        answers = await asyncio.gather(*(_status_or_fault(one, codec) for one in asking))
        for status in answers:
            if isinstance(status, PeerFault):
                continue
            found[status.descriptor.peer] = status
            new = {descriptor.address for descriptor in status.neighbours if descriptor.address} - met
            waiting += sorted(new)
            met |= new
    if not found:
        raise PeerFault(
            f"the peer at {address} did not answer; check that it runs and has this network's secret"
        )
    return [found[peer] for peer in sorted(found)]


async def _status_or_fault(address: str, codec: FrameCodec) -> PeerStatus | PeerFault:
    try:
        return await status_of(address, codec)
    except PeerFault as fault:
        return fault


async def submit(
    site: str, point: SpacePoint | None, space: ZoneBox, address: str, codec: FrameCodec
) -> None:
    """Submit a site to any peer; on return its home has it. Without a point, peers place it by probes."""
    record = None if point is None else SiteRecord(site, key_in(space, point), point)
    answer = await request_reply(address, codec, SubmitSite(site, record), SUBMITTING_SECONDS_MAX)
    if not isinstance(answer, SubmitAck):
        raise PeerFault(f"unexpected reply from {address} while submitting {site}")


async def locate_owner(key: SpacePoint, address: str, codec: FrameCodec) -> LocateReply:
    """The owner of a key, located through any peer."""
    answer = await request_reply(address, codec, LocateKey(key), SECONDS_MAX)
    if not isinstance(answer, LocateReply):
        raise PeerFault(f"unexpected reply from {address} while locating {key}")
    return answer


async def search(request: SearchRequest, address: str, codec: FrameCodec) -> SearchReply:
    """Search the whole network through any peer."""
    answer = await request_reply(address, codec, SearchAll(request), SEARCHING_SECONDS_MAX)
    if not isinstance(answer, SearchReply):
        raise PeerFault(f"unexpected reply from {address} to a search")
    return answer


async def request_reply(
    address: str, codec: FrameCodec, question: RpcRequest, seconds_max: float
) -> WireMessage:
    """Send one request over its own connection. Raises PeerFault if no reply arrives."""
    try:
        async with asyncio.timeout(seconds_max):
            reader, writer = await open_connection(address)
            try:
                frame = codec.encode(question, address, time.time())
                writer.write(codec.first(frame, address, time.time()))
                await writer.drain()
                answer = await reader.readexactly(length_of(await reader.readexactly(4)))
                mark = frame[4 : 4 + MAC_BYTES].hex()
                return _checked(codec.decode(answer, mark, time.time()).message, address)
            finally:
                writer.close()
    except (OSError, asyncio.IncompleteReadError) as error:
        raise PeerFault(
            f"the peer at {address} did not answer ({error!r}); "
            "check that it runs and has this network's secret"
        ) from None


def _checked(answer: WireMessage, address: str) -> WireMessage:
    if isinstance(answer, RpcError):
        raise PeerFault(f"the peer at {address} reports: {answer.why}")
    return answer
