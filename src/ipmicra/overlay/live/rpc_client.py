"""An operator's question -> a running peer, and its answer."""

from __future__ import annotations

import asyncio
import time

from ipmicra.errors import HostFault
from ipmicra.model.zones import Box, Point, key_in
from ipmicra.overlay.live.connections import opened
from ipmicra.protocol.overlay_frames import MAC_BYTES, Seal, length_of
from ipmicra.protocol.overlay_messages import Homed, Located, PeerId, SiteRecord
from ipmicra.protocol.overlay_rpc import (
    AskSearch,
    AskStatus,
    AskToSubmit,
    AskWhoOwns,
    Found,
    Question,
    Sorry,
    Spoken,
    Status,
)
from ipmicra.search.contract import Request

SECONDS_MAX = 5.0
SUBMITTING_SECONDS_MAX = 30.0
SEARCHING_SECONDS_MAX = 10.0


async def status_of(address: str, seal: Seal) -> Status:
    """What the peer at this address says of itself."""
    answer = await asked(address, seal, AskStatus(), SECONDS_MAX)
    if not isinstance(answer, Status):
        raise HostFault(f"{address} answered something else than its status")
    return answer


async def everybody(address: str, seal: Seal, at_once_max: int = 16) -> list[Status]:
    """The status of all peers that can be found, from neighbour to neighbour; who is silent is left out."""
    found: dict[PeerId, Status] = {}
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


async def _status_or_fault(address: str, seal: Seal) -> Status | HostFault:
    try:
        return await status_of(address, seal)
    except HostFault as fault:
        return fault


async def submit(site: str, point: Point | None, space: Box, address: str, seal: Seal) -> None:
    """Give a site to any peer; on return its home has it. Without a point peers place it by probes."""
    record = None if point is None else SiteRecord(site, key_in(space, point), point)
    answer = await asked(address, seal, AskToSubmit(site, record), SUBMITTING_SECONDS_MAX)
    if not isinstance(answer, Homed):
        raise HostFault(f"{address} answered something else than that {site} is home")


async def who_owns(key: Point, address: str, seal: Seal) -> Located:
    """The owner of a place, found by way of any peer."""
    answer = await asked(address, seal, AskWhoOwns(key), SECONDS_MAX)
    if not isinstance(answer, Located):
        raise HostFault(f"{address} answered something else than who owns {key}")
    return answer


async def search(request: Request, address: str, seal: Seal) -> Found:
    """What the network finds, asked by way of any peer."""
    answer = await asked(address, seal, AskSearch(request), SEARCHING_SECONDS_MAX)
    if not isinstance(answer, Found):
        raise HostFault(f"{address} answered something else than what it found")
    return answer


async def asked(address: str, seal: Seal, question: Question, seconds_max: float) -> Spoken:
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


def _unless_sorry(answer: Spoken, address: str) -> Spoken:
    if isinstance(answer, Sorry):
        raise HostFault(f"the peer at {address} says: {answer.why}")
    return answer
