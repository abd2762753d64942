"""Live peers -> what is amiss among them, which sites two of them crawl, which pages they hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import NamedTuple

from benchmarks.overlay_parts.peers import SECRET, SPACE, address_at
from ipmicra.errors import PeerFault
from ipmicra.model.search import SearchRequest
from ipmicra.model.urls import Site, name_of
from ipmicra.overlay.live.rpc_client import search, status_of
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_rpc import PeerStatus

ASKED_AT_ONCE = 20
SEARCHED_AT_ONCE = 4


class Look(NamedTuple):
    """One look at all of them."""

    amiss: str  # nothing, when all is well
    crawled_twice: frozenset[str]


async def looked(ports: list[int], sites: int) -> Look:
    try:
        peers = await _told(ports)
    except PeerFault as fault:
        return Look(str(fault), frozenset())
    crawled = Counter(site for peer in peers for site in peer.crawled)
    twice = frozenset(site for site, count in crawled.items() if count > 1)
    home_records = Counter(site for peer in peers for site in peer.home_sites)
    filled = sum(zone.volume for peer in peers for zone in peer.descriptor.zones) / SPACE.volume
    well = all(peer.descriptor.zones for peer in peers) and abs(filled - 1) < 1e-9
    once = all(len(found) == found.total() == sites for found in (home_records, crawled))
    amiss = (
        f"zones fill {filled:.3f}, {len(home_records)} homed and {len(crawled)} crawled of {sites} sites"
    )
    return Look("" if well and once else amiss, twice)


async def _told(ports: list[int]) -> list[PeerStatus]:
    codec, turns = FrameCodec(SECRET), asyncio.Semaphore(ASKED_AT_ONCE)

    async def one(port: int) -> PeerStatus:
        async with turns:
            return await status_of(address_at(port), codec)

    return list(await asyncio.gather(*map(one, ports)))


async def pages_found(sites: list[str], port: int) -> set[str]:
    """The pages of these sites that one search each finds, some at a time, asked of one peer."""
    codec, turns = FrameCodec(SECRET), asyncio.Semaphore(SEARCHED_AT_ONCE)

    async def one(site: str) -> set[str]:
        request = SearchRequest(text=f"site:{name_of(Site(site))}", limit=100, per_site=0)
        async with turns:
            try:
                answer = await search(request, address_at(port), codec)
            except PeerFault:
                return set()
        return {hit.url for hit in answer.answer.hits}

    return set().union(*await asyncio.gather(*map(one, sites)))
