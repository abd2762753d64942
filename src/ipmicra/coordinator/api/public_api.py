"""What people and other programs ask -> JSON: nearest, explain, status, metrics, health."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from litestar import MediaType, Request, Response, get
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.api.metrics import MEDIA_TYPE, metrics_text
from ipmicra.coordinator.ingest.index_state import IndexState, index_state
from ipmicra.coordinator.store import sites
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.views import explanation
from ipmicra.coordinator.views.alerts import AlertList, errors_of
from ipmicra.coordinator.views.explanation import Explanation, Nearest
from ipmicra.coordinator.views.status import CoordinatorStatus, standing, without_addresses

ASKED_MAX = 1_000  # sites that strangers have asked about and that are still being looked into
LOOK_SECONDS = 0.2  # between two looks whether an answer has come
WAIT_SECONDS_MAX = 60

_PageUrl = Annotated[
    str, QueryParameter(name="url", max_length=2000, description="a page's or site's address")
]
_Wait = Annotated[
    float,
    QueryParameter(
        name="wait", ge=0, le=WAIT_SECONDS_MAX, description="seconds to wait while it is found out"
    ),
]


def public_handlers(rooms: CoordinatorContext) -> list[HTTPRouteHandler]:
    @get("/v1/nearest", tags=["nearest"], summary="Which crawler is nearest to a site")
    async def nearest(url: _PageUrl, wait: _Wait = 5.0) -> Nearest:
        site = explanation.site_in(url)
        found = await rooms.aside(_ask, rooms, site)
        patience = wait
        while found.state in (SiteStatus.ASKED, SiteStatus.WAITING) and patience > 0:
            await asyncio.sleep(min(LOOK_SECONDS, patience))
            patience -= LOOK_SECONDS
            found = await rooms.aside(_nearest, rooms, site)
        return found

    @get("/v1/explain", tags=["nearest"], summary="Who has a site, and why")
    async def explain(url: _PageUrl) -> Explanation:
        return await rooms.aside(_explain, rooms, explanation.site_in(url))

    @get("/v1/status", tags=["operation"], summary="Hosts, sites, orders and packages, counted")
    async def status(request: Request[Any, Any, State]) -> CoordinatorStatus:
        """The addresses of hosts are told to an operator who has signed in."""
        session = request.cookies.get(sessions.SESSION_COOKIE, "")
        return await rooms.aside(_told, rooms, session)

    @get("/v1/errors", tags=["operation"], summary="What goes wrong, by kind, and what to do about it")
    async def errors() -> AlertList:
        return await rooms.aside(_errors, rooms)

    @get("/metrics", tags=["operation"], media_type=MediaType.TEXT, summary="For Prometheus")
    async def metrics() -> Response[str]:
        now = await rooms.aside(_standing, rooms)
        text = metrics_text(now, rooms.leads(), len(rooms.bell))
        return Response(text, headers={"content-type": MEDIA_TYPE})

    @get("/health", tags=["operation"], media_type=MediaType.TEXT, sync_to_thread=False)
    def health() -> str:
        """The process lives."""
        return "alive\n"

    @get("/ready", tags=["operation"], media_type=MediaType.TEXT)
    async def ready() -> str:
        """The database answers. What is wrong with the search index is said, and keeps nobody away."""
        index = await rooms.aside(_look, rooms)
        return "ready\n" if index.is_well else f"ready, but {index.in_words()}\n"

    return [nearest, explain, status, errors, metrics, health, ready]


def _ask(rooms: CoordinatorContext, site: str) -> Nearest:
    known = _nearest(rooms, site)
    if known.state != "unknown" or not rooms.settings.nearest_asks:
        return known
    with rooms.database.begin() as connection:
        if sites.counts(connection).get(SiteStatus.ASKED, 0) >= ASKED_MAX:
            return Nearest(
                site=site, state="unknown", note="too many sites are being looked into; later"
            )
        sites.ensure_known(connection, site, rooms.clock())
    rooms.news.set()
    return _nearest(rooms, site)


def _nearest(rooms: CoordinatorContext, site: str) -> Nearest:
    with rooms.database.read() as connection:
        return explanation.nearest(connection, site)


def _explain(rooms: CoordinatorContext, site: str) -> Explanation:
    with rooms.database.read() as connection:
        return explanation.explain(connection, rooms.tree, site, rooms.clock())


def _standing(rooms: CoordinatorContext) -> CoordinatorStatus:
    with rooms.database.read() as connection:
        return standing(connection, rooms.clock())


def _errors(rooms: CoordinatorContext) -> AlertList:
    with rooms.database.read() as connection:
        return errors_of(connection, rooms.clock())


def _told(rooms: CoordinatorContext, session: str) -> CoordinatorStatus:
    now = _standing(rooms)
    if session:
        with rooms.database.begin() as connection:
            if sessions.session_lives(connection, session, rooms.clock()):
                return now
    return without_addresses(now)


def _look(rooms: CoordinatorContext) -> IndexState:
    with rooms.database.read() as connection:
        sites.site_named(connection, "")
        return index_state(connection)
