"""A network of peers, queried through any peer -> its dashboard: zones, peers, sites; and a search page.

Invariant: reads only. The dashboard is not part of the network: it has the network's file and sends queries,
through any peer that it has met before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import htpy as h
from litestar import Litestar, MediaType, Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromQuery, QueryParameter

from ipmicra.errors import PeerFault
from ipmicra.model.search import PER_SITE, SearchRequest
from ipmicra.overlay.live import rpc_client
from ipmicra.overlay.live.projection import peer_projection
from ipmicra.protocol.overlay_frames import FrameCodec
from ipmicra.protocol.overlay_rpc import PeerStatus, SearchReply
from ipmicra.search.http import pages as search_pages
from ipmicra.theme.assets import serve_asset
from ipmicra.theme.layout import Navigation, NavigationItem, document
from ipmicra.theme.policy import HEADERS, RESPONSE_HEADERS
from ipmicra.web import formats
from ipmicra.web.components import Figure, behind, figures, notice
from ipmicra.web.navigation import NO_STORE
from ipmicra.web.pages.zones import zones_drawing, zones_tables

FRESH_SECONDS = 5
NAVIGATION = Navigation(places=(NavigationItem("/", "Zones"), NavigationItem("/search", "Search")))
_Limit = Annotated[int, QueryParameter(ge=1, le=100)]
_Offset = Annotated[int, QueryParameter(ge=0, le=1000)]
T = TypeVar("T")


class OverlayObserver:
    """Queries the network through the peer that answered last, or through any other known peer."""

    def __init__(self, address: str, codec: FrameCodec) -> None:
        self._known, self._codec = [address], codec

    async def peers(self) -> list[PeerStatus]:
        found = await self._by_way_of_any(lambda via: rpc_client.all_statuses(via, self._codec))
        met = [peer.descriptor.address for peer in found]
        self._known = self._known[:1] + [address for address in met if address != self._known[0]]
        return found

    async def search(self, request: SearchRequest) -> SearchReply:
        return await self._by_way_of_any(lambda via: rpc_client.search(request, via, self._codec))

    async def _by_way_of_any(self, ask: Callable[[str], Awaitable[T]]) -> T:
        silent: list[str] = []
        for via in list(self._known):
            try:
                answer = await ask(via)
            except PeerFault as fault:
                silent.append(str(fault))
                continue
            self._known.remove(via)
            self._known.insert(0, via)
            return answer
        raise PeerFault(silent[0])


def application(lookout: OverlayObserver) -> Litestar:
    """All pages of the overlay's dashboard."""
    return Litestar(
        [serve_asset, _zones(lookout), _search(lookout)],
        openapi_config=None,
        response_headers=RESPONSE_HEADERS,
        exception_handlers={PeerFault: _nobody_answers},
    )


def _zones(lookout: OverlayObserver) -> HTTPRouteHandler:
    @get("/", include_in_schema=False)
    async def zones() -> Response[str]:
        return zones_page(await lookout.peers())

    return zones


def _search(lookout: OverlayObserver) -> HTTPRouteHandler:
    @get("/search", media_type=MediaType.HTML, include_in_schema=False)
    async def search(
        q: FromQuery[str] = "", limit: _Limit = 10, offset: _Offset = 0, every: FromQuery[bool] = False
    ) -> str:
        if not q.strip():
            pages = sum(peer.pages for peer in await lookout.peers())
            return search_pages.empty_page(pages, NAVIGATION)
        request = SearchRequest(text=q, limit=limit, offset=offset, per_site=0 if every else PER_SITE)
        return search_pages.answer_page(
            request, (await lookout.search(request)).answer, NAVIGATION, with_kept=False
        )

    return search


def zones_page(peers: list[PeerStatus]) -> Response[str]:
    picture = peer_projection(peers)
    first, second = (axis + 1 for axis in picture.axes)
    body = [
        h.h1["Zones, peers and sites"],
        h.p(".lead")[
            "Each peer owns a part of the space of network coordinates, in which distance is round-trip "
            f"time in ms. Shown are the axes {first} and {second}, along which the peers differ most."
        ],
        h.div(
            "#moment",
            hx_get="/",
            hx_trigger=f"every {FRESH_SECONDS}s",
            hx_select="#moment",
            hx_select_oob="#tables",
            hx_swap="outerHTML",
        )[
            figures(_figures(peers)),
            h.section(".panel")[
                zones_drawing(picture),
                h.p(".legend.small")[
                    h.span(".key.zone-key")["zone; deeper where some lie over each other"],
                    h.span(".key.crawler-key")["peer"],
                    h.span(".key.near-key")["site, with a line to the peer that crawls it"],
                ],
            ],
        ],
        h.section(".panel")[behind("The same as tables", h.div("#tables")[zones_tables(picture)])],
    ]
    return _page("Zones", body, scripts=("htmx.min.js",))


def _figures(peers: list[PeerStatus]) -> list[Figure]:
    space = peers[0].space.volume
    share = sum(zone.volume for peer in peers for zone in peer.descriptor.zones) / space
    neighbours = sum(len(peer.neighbours) for peer in peers) / len(peers)
    paused = sum(bool(peer.pause_reason) for peer in peers)
    rest = f", {formats.number(paused)} paused" if paused else ""
    return [
        Figure("peers", "peers", formats.number(len(peers)), f"{neighbours:.1f} neighbours each{rest}"),
        Figure("space", "of the space", formats.percent(share), "belongs to those who answered"),
        Figure(
            "sites",
            "sites",
            formats.number(len({site for peer in peers for site in peer.home_sites})),
            f"{formats.number(sum(len(peer.crawled) for peer in peers))} being crawled",
        ),
        Figure(
            "pages",
            "page copies",
            formats.short(sum(peer.pages for peer in peers)),
            f"{formats.short(sum(peer.pending for peer in peers))} to fetch; each is kept by two peers",
        ),
    ]


def _nobody_answers(_: object, fault: PeerFault) -> Response[str]:
    body = [h.h1["No peer answers"], notice(str(fault), "bad")]
    return _page("No peer answers", body, status=503)


def _page(title: str, body: h.Node, status: int = 200, scripts: tuple[str, ...] = ()) -> Response[str]:
    text = document(title, body, here="/", navigation=NAVIGATION, scripts=scripts)
    return Response(text, media_type=MediaType.HTML, status_code=status, headers=HEADERS | NO_STORE)
