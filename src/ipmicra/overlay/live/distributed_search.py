"""A query to one peer -> the merged replies of all peers that answer in time.

The queried peer asks the peers it knows, a few at a time; each reply names that peer's neighbours, until no
peer is left or the time is over. Zones tile the space, so the zones of the peers that answered tell which
share of all sites was searched; the missing share is reported.

Invariant: the reply of a site's crawler has priority; replicas on other peers count only if the crawler did
not answer or has not crawled the whole site yet. Of two versions of a page the later one counts. Scores are
those of each peer's own index.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from ipmicra.errors import PeerFault
from ipmicra.model.search import Hit, SearchAnswer, SearchRequest
from ipmicra.model.zones import ZoneBox
from ipmicra.protocol.overlay_messages import PeerDescriptor, PeerId
from ipmicra.protocol.overlay_rpc import LocalSearchReply

AskOne = Callable[[PeerDescriptor], Awaitable[LocalSearchReply]]


@dataclass
class DistributedSearch:
    """One query on its way through the network."""

    ask: AskOne
    at_once_max: int
    replies: dict[PeerId, LocalSearchReply] = field(default_factory=dict)
    silent: set[PeerId] = field(default_factory=set)
    _waiting: list[PeerDescriptor] = field(default_factory=list)
    _met: set[PeerId] = field(default_factory=set)

    async def gather(self, mine: LocalSearchReply, seconds_max: float) -> None:
        """Query all reachable peers; queries still running when the time is over are cancelled."""
        self._on_reply(mine)
        try:
            async with asyncio.timeout(seconds_max), asyncio.TaskGroup() as tasks:
                under_way: set[asyncio.Task[None]] = set()
                while self._waiting or under_way:
                    while self._waiting and len(under_way) < self.at_once_max:
                        under_way.add(tasks.create_task(self._ask(self._waiting.pop())))
                    _, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            pass

    async def _ask(self, descriptor: PeerDescriptor) -> None:
        try:
            self._on_reply(await self.ask(descriptor))
        except PeerFault:
            self.silent.add(descriptor.peer)

    def _on_reply(self, answer: LocalSearchReply) -> None:
        self.replies[answer.descriptor.peer] = answer
        self._met.add(answer.descriptor.peer)
        for descriptor in answer.neighbours:
            if descriptor.peer not in self._met and descriptor.address:
                self._met.add(descriptor.peer)
                self._waiting.append(descriptor)


def merged_answer(
    replies: Iterable[LocalSearchReply], space: ZoneBox, request: SearchRequest, began_s: float
) -> SearchAnswer:
    """One answer out of many replies, with a note on what is missing."""
    answers = list(replies)
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
    share = sum(zone.volume for answer in answers for zone in answer.descriptor.zones) / space.volume
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
    """At most `per_site` hits per site; the first hit of a site has the number of hidden ones."""
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
