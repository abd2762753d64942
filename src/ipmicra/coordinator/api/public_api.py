"""Requests of people and other programs -> JSON: nearest, explain, status, metrics, health."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from litestar import MediaType, Request, Response, get
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.params import QueryParameter

from ipmicra.coordinator.admin import api_tokens, sessions
from ipmicra.coordinator.admin.api_tokens import TokenScope
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.api.metrics import MEDIA_TYPE, RowMetrics, metrics_text
from ipmicra.coordinator.api.operator_api import REFUSALS, token_in
from ipmicra.coordinator.api.readiness import Readiness
from ipmicra.coordinator.store import sites
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.coordinator.views import explanation
from ipmicra.coordinator.views.alerts import alert_list
from ipmicra.coordinator.views.status import coordinator_status, without_addresses
from ipmicra.protocol.coordinator_api import AlertList, CoordinatorStatus, Explanation, Nearest

PENDING_QUESTIONS_MAX = (
    1_000  # sites that strangers have asked about and that are still being looked into
)
QUESTION_SPACING_S = 0.1  # between the places in the queue of sites that strangers ask about
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
    row_metrics, readiness = RowMetrics(context.database), Readiness(context)

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

    @get("/v1/explain", tags=["nearest"], summary="The crawler of a site, and the reasons")
    async def explain(url: _PageUrl) -> Explanation:
        return await context.questions.run(_explain, context, explanation.site_in(url))

    @get(
        "/v1/status",
        tags=["operation"],
        summary="Hosts, sites, orders and packages, counted",
        responses={401: REFUSALS[401], 403: REFUSALS[403]},
        security=[{}, {"token": []}],
    )
    async def status(request: Request[Any, Any, State]) -> CoordinatorStatus:
        """The status; the addresses of hosts are shown only to an operator, or with a token that may read."""
        session = request.cookies.get(sessions.SESSION_COOKIE, "")
        return await context.run_in_thread(_visible_status, context, session, token_in(request))

    @get("/v1/errors", tags=["operation"], summary="Failures and alerts by kind, with advice")
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
    async def ready() -> Response[str]:
        """Whether disk, package store and database can be written; 503 and the reasons if not. Problems of
        the search index are reported and do not change readiness.
        """
        problems = await context.run_in_thread(readiness.problems)
        if problems:
            reasons = "; ".join(problems)
            return Response(f"not ready: {reasons}\n", status_code=503, media_type=MediaType.TEXT)
        remark = await context.run_in_thread(readiness.remark)
        words = f"ready, but {remark}\n" if remark else "ready\n"
        return Response(words, media_type=MediaType.TEXT)

    return [nearest, explain, status, errors, metrics, health, ready]


def _ask(context: CoordinatorContext, site: str) -> Nearest:
    known = _nearest(context, site)
    if known.state != "unknown" or not context.settings.nearest_asks:
        return known
    with context.database.begin() as connection:
        pending = sites.asked_count(connection, PENDING_QUESTIONS_MAX)
        if pending >= PENDING_QUESTIONS_MAX:
            return Nearest(
                site=site, state="unknown", note="too many sites are being looked into; later"
            )
        now_s = context.clock()
        sites.ensure_known(connection, site, now_s + pending * QUESTION_SPACING_S, now_s)
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


def _visible_status(context: CoordinatorContext, session: str, token: str) -> CoordinatorStatus:
    status = _coordinator_status(context)
    if not session and not token:
        return without_addresses(status)
    with context.database.begin() as connection:
        if token:
            api_tokens.authorise(connection, token, TokenScope.READ, context.clock())
            return status
        is_operator = sessions.touch_session(connection, session, context.clock())
    return status if is_operator else without_addresses(status)


def _metrics(context: CoordinatorContext, rows: RowMetrics) -> bytes:
    polls, index = len(context.poll_notifier), context.index_figures()
    return metrics_text(rows, context.clock(), context.is_leader(), polls, index)
