"""What a program with a token may do -> JSON: submit pages.

Invariant: a request without a valid token of the right scope changes nothing. A repeated request has no
further effect.
"""

from __future__ import annotations

from typing import Any

from litestar import Request, post
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody

from ipmicra.coordinator.admin import api_tokens, submission
from ipmicra.coordinator.admin.api_tokens import TokenScope
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.store import events
from ipmicra.coordinator.store.events import EventKind
from ipmicra.protocol.coordinator_api import (
    SUBMISSION_BYTES_MAX,
    ApiRefusal,
    Submission,
    Submitted,
)

BEARER = "Bearer "
REFUSALS = {
    400: ResponseSpec(
        ApiRefusal, description="A URL, or the body, is not valid. Nothing was submitted."
    ),
    401: ResponseSpec(ApiRefusal, description="No token, or one that is unknown, expired or revoked."),
    403: ResponseSpec(ApiRefusal, description="The token does not have the scope that this needs."),
    413: ResponseSpec(ApiRefusal, description="The body is too long. Submit in several requests."),
}


def operator_handlers(context: CoordinatorContext) -> list[HTTPRouteHandler]:
    @post(
        "/v1/submit",
        tags=["operation"],
        summary="Submit pages to crawl",
        description="Safe to repeat: a URL that is known already changes nothing.",
        status_code=200,
        request_max_body_size=SUBMISSION_BYTES_MAX,
        responses=REFUSALS,
        security=[{"token": []}],
    )
    async def submit(request: Request[Any, Any, State], data: JSONBody[Submission]) -> Submitted:
        submitted = await context.run_in_thread(_submit, context, token_in(request), data.urls)
        context.leader_wakeup.set()
        return submitted

    return [submit]


def token_in(request: Request[Any, Any, State]) -> str:
    """The token that came with the request; "" if there is none."""
    header = request.headers.get("authorization", "")
    return header.removeprefix(BEARER).strip() if header.startswith(BEARER) else ""


def _submit(context: CoordinatorContext, token: str, urls: list[str]) -> Submitted:
    now_s = context.clock()
    with context.database.begin() as connection:
        name = api_tokens.authorise(connection, token, TokenScope.SUBMIT, now_s)
        submitted, new = submission.submit(connection, urls, now_s)
        if new:
            detail = f"{submitted} submitted, {new} of them new"
            events.record(connection, EventKind.PAGES_SUBMITTED, name, detail, now_s)
    return Submitted(submitted=submitted, new=new)
