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
from ipmicra.coordinator.api.metrics import MEDIA_TYPE, RowMetrics, metrics_text
from ipmicra.coordinator.ingest.index_state import IndexState, index_state
from ipmicra.coordinator.store import sites
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.views import explanation
from ipmicra.coordinator.views.alerts import alert_list
from ipmicra.coordinator.views.status import coordinator_status, without_addresses
from ipmicra.protocol.coordinator_api import AlertList, CoordinatorStatus, Explanation, Nearest

PENDING_QUESTIONS_MAX = (
    1_000  # sites that strangers have asked about and that are still being looked into
)
CHECK_SECONDS = 0.2  # between two looks whether an answer has come
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


def public_handlers(context: CoordinatorContext) -> list[HTTPRouteHandler]:
    row_metrics = RowMetrics(context.database)

    @get("/v1/nearest", tags=["nearest"], summary="Which crawler is nearest to a site")
    async def nearest(url: _PageUrl, wait: _Wait = 5.0) -> Nearest:
        site = explanation.site_in(url)
        found = await context.run_in_thread(_ask, context, site)
        remaining_s = wait
        while found.state in (SiteStatus.ASKED, SiteStatus.WAITING) and remaining_s > 0:
            await asyncio.sleep(min(CHECK_SECONDS, remaining_s))
            remaining_s -= CHECK_SECONDS
            found = await context.run_in_thread(_nearest, context, site)
        return found

    @get("/v1/explain", tags=["nearest"], summary="Who has a site, and why")
    async def explain(url: _PageUrl) -> Explanation:
        return await context.run_in_thread(_explain, context, explanation.site_in(url))

    @get("/v1/status", tags=["operation"], summary="Hosts, sites, orders and packages, counted")
    async def status(request: Request[Any, Any, State]) -> CoordinatorStatus:
        """The addresses of hosts are told to an operator who has signed in."""
        session = request.cookies.get(sessions.SESSION_COOKIE, "")
        return await context.run_in_thread(_visible_status, context, session)

    @get("/v1/errors", tags=["operation"], summary="What goes wrong, by kind, and what to do about it")
    async def errors() -> AlertList:
        return await context.run_in_thread(_errors, context)

    @get("/metrics", tags=["operation"], media_type=MediaType.TEXT, summary="For Prometheus")
    async def metrics() -> Response[bytes]:
        text = await context.run_in_thread(_metrics, context, row_metrics)
        return Response(text, headers={"content-type": MEDIA_TYPE})

    @get("/health", tags=["operation"], media_type=MediaType.TEXT, sync_to_thread=False)
    def health() -> str:
        """The process lives."""
        return "alive\n"

    @get("/ready", tags=["operation"], media_type=MediaType.TEXT)
    async def ready() -> str:
        """The database answers. What is wrong with the search index is said, and keeps nobody away."""
        index = await context.run_in_thread(_check_database, context)
        return "ready\n" if index.is_well else f"ready, but {index.in_words()}\n"

    return [nearest, explain, status, errors, metrics, health, ready]


def _ask(context: CoordinatorContext, site: str) -> Nearest:
    known = _nearest(context, site)
    if known.state != "unknown" or not context.settings.nearest_asks:
        return known
    with context.database.begin() as connection:
        if sites.counts(connection).get(SiteStatus.ASKED, 0) >= PENDING_QUESTIONS_MAX:
            return Nearest(
                site=site, state="unknown", note="too many sites are being looked into; later"
            )
        sites.ensure_known(connection, site, context.clock())
    context.leader_wakeup.set()
    return _nearest(context, site)


def _nearest(context: CoordinatorContext, site: str) -> Nearest:
    with context.database.read() as connection:
        return explanation.nearest(connection, site)


def _explain(context: CoordinatorContext, site: str) -> Explanation:
    with context.database.read() as connection:
        return explanation.explain(connection, context.tree, site, context.clock())


def _coordinator_status(context: CoordinatorContext) -> CoordinatorStatus:
    with context.database.read() as connection:
        return coordinator_status(connection, context.clock())


def _errors(context: CoordinatorContext) -> AlertList:
    with context.database.read() as connection:
        return alert_list(connection, context.clock())


def _visible_status(context: CoordinatorContext, session: str) -> CoordinatorStatus:
    status = _coordinator_status(context)
    if session:
        with context.database.begin() as connection:
            if sessions.touch_session(connection, session, context.clock()):
                return status
    return without_addresses(status)


def _metrics(context: CoordinatorContext, rows: RowMetrics) -> bytes:
    polls, index = len(context.poll_notifier), context.index_figures()
    return metrics_text(rows, context.clock(), context.is_leader(), polls, index)


def _check_database(context: CoordinatorContext) -> IndexState:
    with context.database.read() as connection:
        sites.site_named(connection, "")
        return index_state(connection)
