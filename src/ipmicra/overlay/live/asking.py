"""An operator's question or letter -> a running peer, and its answer."""

from __future__ import annotations

import asyncio
import time

from ipmicra.errors import HostFault
from ipmicra.overlay.can.box import Box, Point, key_in
from ipmicra.overlay.can.messages import Message, Routed, SiteRecord, Submit
from ipmicra.overlay.live.frames import AskStatus, Seal, Spoken, Status, length_of

SECONDS_MAX = 5.0


async def status_of(address: str, seal: Seal) -> Status:
    """What the peer at this address says of itself."""
    answer = await _exchanged(address, seal, AskStatus(), answered=True)
    if not isinstance(answer, Status):
        raise HostFault(f"{address} answered something else than its status")
    return answer


async def submit(site: str, point: Point, space: Box, address: str, seal: Seal) -> None:
    """Give a site to any peer; it is routed home."""
    record = SiteRecord(site, key_in(space, point), point)
    message: Message = Routed(record.key, Submit(record))
    await _exchanged(address, seal, message, answered=False)


async def _exchanged(address: str, seal: Seal, message: Spoken, answered: bool) -> Spoken | None:
    host, _, port = address.rpartition(":")
    try:
        async with asyncio.timeout(SECONDS_MAX):
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
            try:
                writer.write(seal.sealed(message, address, time.time()))
                await writer.drain()
                if not answered:
                    return None
                frame = await reader.readexactly(length_of(await reader.readexactly(4)))
                return seal.opened(frame, "", time.time())
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise HostFault(
            f"the peer at {address} did not answer ({error!r}); does it run, with this network's secret?"
        ) from None
