"""A question to one peer -> answers of all peers that can be asked in time, merged.

The asked peer goes from peer to peer: it asks those it knows, each of which names its neighbours, a few at
a time, until nobody is left or the time is over. Zones tile the space, so the zones of those who answered
tell what share of all sites was asked for; what is missing is said.

Law: what the crawler of a site says of it counts; what others keep of it counts where its crawler did not
answer or has not been through it yet. Of two sights of a page the later one counts. Scores are each
index's own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from ipmicra.errors import HostFault
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.model.zones import ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from ipmicra.protocol.overlay_rpc import LocalSearchReply

AskOne = Callable[[PeerDescriptor], Awaitable[LocalSearchReply]]


@dataclass
class DistributedSearch:
    """One question on its way round the network."""

    ask: AskOne
    at_once_max: int
    found: dict[PeerId, LocalSearchReply] = field(default_factory=dict)
    silent: set[PeerId] = field(default_factory=set)
    _waiting: list[PeerDescriptor] = field(default_factory=list)
    _met: set[PeerId] = field(default_factory=set)

    async def gathered(self, mine: LocalSearchReply, seconds_max: float) -> None:
        """All that can be asked; what is still under way when the time is over is given up."""
        self._came(mine)
        try:
            async with asyncio.timeout(seconds_max), asyncio.TaskGroup() as tasks:
                under_way: set[asyncio.Task[None]] = set()
                while self._waiting or under_way:
                    while self._waiting and len(under_way) < self.at_once_max:
                        under_way.add(tasks.create_task(self._asked(self._waiting.pop())))
                    _, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            pass

    async def _asked(self, card: PeerDescriptor) -> None:
        try:
            self._came(await self.ask(card))
        except HostFault:
            self.silent.add(card.peer)

    def _came(self, answer: LocalSearchReply) -> None:
        self.found[answer.card.peer] = answer
        self._met.add(answer.card.peer)
        for card in answer.neighbours:
            if card.peer not in self._met and card.address:
                self._met.add(card.peer)
                self._waiting.append(card)


def merged(
    found: Iterable[LocalSearchReply], space: ZoneBox, request: SearchRequest, began_s: float
) -> SearchAnswer:
    """One answer out of many, and what it does not know."""
    answers = list(found)
    covered = {site for answer in answers for site in answer.complete}
    best: dict[str, Hit] = {}
    for answer in answers:
        own = set(answer.complete)
        for hit in answer.hits:
            if hit.site in covered and hit.site not in own:
                continue
            known = best.get(hit.url)
            if known is None or known.fetched_at_ms < hit.fetched_at_ms:
                best[hit.url] = hit
    ranked = sorted(best.values(), key=lambda hit: (-hit.score, hit.url))
    folded = _folded(ranked, request.per_site)
    share = sum(zone.volume for answer in answers for zone in answer.card.zones) / space.volume
    remarks = (
        [] if share > 1 - 1e-6 else [f"peers with {1 - share:.0%} of the space did not answer in time"]
    )
    return SearchAnswer(
        hits=folded[request.offset : request.offset + request.limit],
        total=len(best),
        took_ms=(time.perf_counter() - began_s) * 1000,
        partial=bool(remarks),
        remarks=remarks,
    )


def _folded(ranked: list[Hit], per_site: int) -> list[Hit]:
    """At most so many of each site; the first of a site says how many more there were."""
    shown: dict[str, int] = {}
    totals: dict[str, int] = {}
    for hit in ranked:
        totals[hit.site] = totals.get(hit.site, 0) + 1
    kept = []
    for hit in ranked:
        shown[hit.site] = shown.get(hit.site, 0) + 1
        if not per_site or shown[hit.site] <= per_site:
            more = totals[hit.site] - min(totals[hit.site], per_site or totals[hit.site])
            kept.append(msgspec.structs.replace(hit, more_from_site=more))
    return kept
