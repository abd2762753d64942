"""A request to a running peer -> its reply, which may need messages to other peers."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

import msgspec

from ipmicra.errors import PeerFault, SiteFault
from ipmicra.model.search import SearchRequest
from ipmicra.model.urls import Site
from ipmicra.overlay.live import placement
from ipmicra.overlay.live.distributed_search import DistributedSearch, merged_answer
from ipmicra.overlay.live.rpc_client import request_reply
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
from ipmicra.search.keys import site_name_of

if TYPE_CHECKING:
    from ipmicra.overlay.live.crawl_service import PeerCrawlService
    from ipmicra.overlay.live.node import Node

SEARCH_PEER_SECONDS_MAX = 2.0
DISCOVERED_SECONDS_MAX = 30.0
HITS_PER_PEER = 100
PLACES_MAX = 200  # sites of one peer; more points than that cannot be read in a drawing


class RpcServer:
    """The requests that one node is answering."""

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
                record = question.record or await self._measure_site(question.site)
                return await self._route_and_wait(
                    f"home {record.site}", Routed(record.key, Submit(record))
                )
            case LocateKey():
                name = f"owner {next(self._numbers)}"
                locate = Routed(question.key, Locate(self._node.peer.descriptor, name))
                return await self._route_and_wait(name, locate)
            case TransferChunk():
                return await self._crawl_service().transfers.on_chunk(question)
            case SearchLocal():
                return await self._search_local(question.request)
            case SearchAll():
                return await self._search_all(question.request)
            case Attach():
                raise PeerFault("Attach cannot be relayed")
            case never:
                assert_never(never)

    def _crawl_service(self) -> PeerCrawlService:
        if self._node.crawl_service is None:
            raise PeerFault("this peer neither crawls nor stores pages")
        return self._node.crawl_service

    # --- routed messages and their replies ----------------------------------------------------

    async def _route_and_wait(self, name: str, routed: Routed) -> SubmitAck | LocateReply:
        """Route a message from here and wait for the reply; the client's time limit ends first."""
        waiting = self._waiting.setdefault(name, asyncio.get_running_loop().create_future())
        self._node.on_message(routed)
        return await asyncio.shield(waiting)

    def on_message(self, message: PeerMessage) -> None:
        """A message arrived that may be a reply to an open request."""
        match message:
            case SubmitAck():
                self._resolve(f"home {message.site}", message)
            case LocateReply():
                self._resolve(message.question, message)
            case SiteMeasured() if message.site in self._measured:
                self._measured[message.site].put_nowait(message)
            case ReleaseSite() if self._node.crawl_service is not None:
                self._node.crawl_service.on_released(message)
            case _:
                pass

    def _resolve(self, name: str, message: SubmitAck | LocateReply) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    # --- placing a site -----------------------------------------------------------------------

    async def _measure_site(self, site: str) -> SiteRecord:
        """Let nearby peers measure the site, and compute its point from their round trips."""
        node = self._node
        others = [descriptor for descriptor in node.peer.nearby() if descriptor.address]
        landmarks = placement.spread_landmarks([node.peer.descriptor, *others], placement.LANDMARKS_MAX)
        queue = self._measured.setdefault(site, asyncio.Queue())
        answers: list[SiteMeasured] = []
        try:
            node.send(
                [Outgoing(descriptor, Measure(site, node.peer.descriptor)) for descriptor in landmarks]
            )
            async with asyncio.timeout(placement.PLACING_SECONDS_MAX):
                while len(answers) < len(landmarks):
                    answers.append(await queue.get())
        except TimeoutError:
            pass  # late answers do not count
        finally:
            self._measured.pop(site, None)
        return placement.record_of_site(site, node.space, answers)

    async def submit_discovered(self, discovered: asyncio.Queue[Site]) -> None:
        """Submit sites that pages link to, one by one; sites that no peer can measure are skipped."""
        while True:
            site = await discovered.get()
            with contextlib.suppress(PeerFault, SiteFault, TimeoutError):
                async with asyncio.timeout(DISCOVERED_SECONDS_MAX):
                    await self.answer(SubmitSite(site))

    # --- searching ----------------------------------------------------------------------------

    async def _search_local(self, request: SearchRequest) -> LocalSearchReply:
        peer = self._node.peer
        every = SearchRequest(text=request.text, limit=HITS_PER_PEER, per_site=0)
        crawl_service = self._crawl_service()
        found = await asyncio.to_thread(crawl_service.packages.search, every)
        names = tuple(site_name_of(site) for site in crawl_service.complete_sites())
        return LocalSearchReply(
            peer.descriptor, tuple(found.hits), names, tuple(peer.table.descriptors())
        )

    async def _search_all(self, request: SearchRequest) -> SearchReply:
        node, began_s = self._node, time.perf_counter()

        async def ask(descriptor: PeerDescriptor) -> LocalSearchReply:
            question = SearchLocal(request)
            answer = await request_reply(
                descriptor.address, node.codec, question, SEARCH_PEER_SECONDS_MAX
            )
            if not isinstance(answer, LocalSearchReply):
                raise PeerFault(f"unexpected reply from {descriptor.peer} to a search")
            return answer

        settings = self._crawl_service().settings.overlay
        search = DistributedSearch(ask, settings.searched_at_once_max)
        mine = await self._search_local(request)
        await search.gather(mine, settings.search_seconds_max)
        answer = merged_answer(search.replies.values(), node.space, request, began_s)
        return SearchReply(answer, len(search.replies), len(search.silent))

    # --- status -------------------------------------------------------------------------------

    async def status(self) -> PeerStatus:
        node, peer, crawl_service = self._node, self._node.peer, self._node.crawl_service
        pages = (
            0 if crawl_service is None else await asyncio.to_thread(crawl_service.packages.page_count)
        )
        return PeerStatus(
            descriptor=peer.descriptor,
            space=node.space,
            neighbours=tuple(peer.table.descriptors()),
            home_sites=tuple(sorted(peer.site_table.home_records)),
            crawled=tuple(sorted(peer.site_table.crawled)),
            routed_lost=peer.routed_lost,
            frames_refused=node.frames_refused,
            pages=pages,
            pending=0 if crawl_service is None else crawl_service.crawler.counts().pending,
            packages_uncopied=0
            if crawl_service is None
            else len(crawl_service.crawler.waiting_packages()),
            places=_places(peer.site_table.home_records),
            pause_reason="" if crawl_service is None else crawl_service.pause_reason() or "",
        )


def _places(records: Mapping[str, SiteRecord]) -> tuple[SiteRecord, ...]:
    """Points and crawlers of the first sites, without the measurements."""
    some = sorted(records)[:PLACES_MAX]
    return tuple(msgspec.structs.replace(records[site], measured=()) for site in some)
