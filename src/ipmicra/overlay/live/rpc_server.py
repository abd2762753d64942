"""A question to a running peer -> its answer, which may have to come from other peers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

import msgspec

from ipmicra.errors import HostFault
from ipmicra.model.search import SearchRequest
from ipmicra.model.urls import Site
from ipmicra.overlay.live import placement
from ipmicra.overlay.live.distributed_search import DistributedSearch, merged
from ipmicra.overlay.live.rpc_client import asked
from ipmicra.protocol.overlay_messages import (
    Locate,
    LocateReply,
    Measure,
    Outgoing,
    PeerDescriptor,
    PeerMessage,
    ReleaseSite,
    Routed,
    SiteMeasured,
    SiteRecord,
    Submit,
    SubmitAck,
)
from ipmicra.protocol.overlay_rpc import (
    Attach,
    GetStatus,
    LocalSearchReply,
    LocateKey,
    PeerStatus,
    RpcReply,
    RpcRequest,
    SearchAll,
    SearchLocal,
    SearchReply,
    SubmitSite,
    TransferChunk,
)
from ipmicra.search.keys import site_of

if TYPE_CHECKING:
    from ipmicra.overlay.live.crawl_service import PeerCrawlService
    from ipmicra.overlay.live.node import Node

SEARCH_PEER_SECONDS_MAX = 2.0
FOUND_SECONDS_MAX = 30.0
HITS_A_PEER = 100
PLACES_TOLD_MAX = 200  # sites of one peer; more dots than that show nothing


class RpcServer:
    """The questions that one node has open."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._numbers = itertools.count()
        self._waiting: dict[str, asyncio.Future[SubmitAck | LocateReply]] = {}
        self._measured: dict[str, asyncio.Queue[SiteMeasured]] = {}

    async def answer(self, question: RpcRequest) -> RpcReply:
        match question:
            case GetStatus():
                return await self.status()
            case SubmitSite():
                record = question.record or await self._placed(question.site)
                return await self._expected(f"home {record.site}", Routed(record.key, Submit(record)))
            case LocateKey():
                name = f"owner {next(self._numbers)}"
                letter = Routed(question.key, Locate(self._node.peer.card, name))
                return await self._expected(name, letter)
            case TransferChunk():
                return await self._household().parcels.came(question)
            case SearchLocal():
                return await self._searched_here(question.request)
            case SearchAll():
                return await self._searched(question.request)
            case Attach():
                raise HostFault("to be attached is no question to be asked through others")
            case never:
                assert_never(never)

    def _household(self) -> PeerCrawlService:
        if self._node.household is None:
            raise HostFault("this peer neither crawls nor keeps anything")
        return self._node.household

    # --- letters and what comes back ----------------------------------------------------------

    async def _expected(self, name: str, letter: Routed) -> SubmitAck | LocateReply:
        """Send a letter by way of myself and wait for what comes back; whoever asks gives up first."""
        waiting = self._waiting.setdefault(name, asyncio.get_running_loop().create_future())
        self._node.take_in(letter)
        return await asyncio.shield(waiting)

    def noticed(self, message: PeerMessage) -> None:
        """A message came in that may answer something."""
        match message:
            case SubmitAck():
                self._resolve(f"home {message.site}", message)
            case LocateReply():
                self._resolve(message.question, message)
            case SiteMeasured() if message.site in self._measured:
                self._measured[message.site].put_nowait(message)
            case ReleaseSite() if self._node.household is not None:
                self._node.household.released(message)
            case _:
                pass

    def _resolve(self, name: str, message: SubmitAck | LocateReply) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    # --- placing a site -----------------------------------------------------------------------

    async def _placed(self, site: str) -> SiteRecord:
        """Let peers around me time the site, and place it by what they say."""
        node = self._node
        others = [card for card in node.peer.around() if card.address]
        landmarks = placement.spread([node.peer.card, *others], placement.LANDMARKS_MAX)
        queue = self._measured.setdefault(site, asyncio.Queue())
        answers: list[SiteMeasured] = []
        try:
            node.send([Outgoing(card, Measure(site, node.peer.card)) for card in landmarks])
            async with asyncio.timeout(placement.PLACING_SECONDS_MAX):
                while len(answers) < len(landmarks):
                    answers.append(await queue.get())
        except TimeoutError:
            pass  # those who did not answer in time do not count
        finally:
            self._measured.pop(site, None)
        return placement.placed(site, node.space, answers)

    async def submit_found(self, found: asyncio.Queue[Site]) -> None:
        """Sites that pages link to, one after the other; one that nobody can time is passed over."""
        while True:
            site = await found.get()
            with contextlib.suppress(HostFault, TimeoutError):
                async with asyncio.timeout(FOUND_SECONDS_MAX):
                    await self.answer(SubmitSite(site))

    # --- searching ----------------------------------------------------------------------------

    async def _searched_here(self, request: SearchRequest) -> LocalSearchReply:
        peer = self._node.peer
        every = SearchRequest(text=request.text, limit=HITS_A_PEER, per_site=0)
        household = self._household()
        found = await asyncio.to_thread(household.shelf.search, every)
        names = tuple(site_of(site) for site in household.complete())
        return LocalSearchReply(peer.card, tuple(found.hits), names, tuple(peer.table.cards()))

    async def _searched(self, request: SearchRequest) -> SearchReply:
        node, began_s = self._node, time.perf_counter()

        async def ask(card: PeerDescriptor) -> LocalSearchReply:
            question = SearchLocal(request)
            answer = await asked(card.address, node.seal, question, SEARCH_PEER_SECONDS_MAX)
            if not isinstance(answer, LocalSearchReply):
                raise HostFault(f"{card.peer} answered something else than what it finds")
            return answer

        knobs = self._household().settings.overlay
        round_trip = DistributedSearch(ask, knobs.searched_at_once_max)
        mine = await self._searched_here(request)
        await round_trip.gathered(mine, knobs.search_seconds_max)
        answer = merged(round_trip.found.values(), node.space, request, began_s)
        return SearchReply(answer, len(round_trip.found), len(round_trip.silent))

    # --- status -------------------------------------------------------------------------------

    async def status(self) -> PeerStatus:
        node, peer, household = self._node, self._node.peer, self._node.household
        pages = 0 if household is None else await asyncio.to_thread(household.shelf.page_count)
        return PeerStatus(
            card=peer.card,
            space=node.space,
            neighbours=tuple(peer.table.cards()),
            homed=tuple(sorted(peer.book.homed)),
            crawled=tuple(sorted(peer.book.crawled)),
            letters_lost=peer.letters_lost,
            frames_refused=node.frames_refused,
            pages=pages,
            pending=0 if household is None else household.crawler.counts().pending,
            packages_uncopied=0 if household is None else len(household.crawler.waiting()),
            places=_places(peer.book.homed),
            resting="" if household is None else household.resting() or "",
        )


def _places(homed: Mapping[str, SiteRecord]) -> tuple[SiteRecord, ...]:
    """Where sites lie and who crawls them, without who measured what."""
    some = sorted(homed)[:PLACES_TOLD_MAX]
    return tuple(msgspec.structs.replace(homed[site], measured=()) for site in some)
