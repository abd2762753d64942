"""The parts of a coordinator -> its web application, with its description (OpenAPI) at /schema."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from litestar import Litestar, MediaType, Request, Response
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import ControllerRouterHandler
from sqlalchemy.exc import DataError, OperationalError

from ipmicra import __version__
from ipmicra.coordinator.admin.api_tokens import ApiTokenRefused
from ipmicra.coordinator.api.authentication import refusal
from ipmicra.coordinator.api.bundle_api import bundle_file
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.api.host_api import host_router
from ipmicra.coordinator.api.operator_api import operator_handlers
from ipmicra.coordinator.api.public_api import public_handlers
from ipmicra.coordinator.api.request_metrics import measure_requests
from ipmicra.coordinator.store.hosts import HostRefused
from ipmicra.errors import Fault, OperatorFault
from ipmicra.net.bounded_pool import PoolBusy
from ipmicra.search.http.application import too_busy

_log = logging.getLogger(__name__)
BEARER_TOKEN = SecurityScheme(
    type="http", scheme="bearer", description="A token of `ipmicra coordinator token create`."
)
_Anything = Request[Any, Any, Any]


def application(
    context: CoordinatorContext,
    pages: Sequence[ControllerRouterHandler] = (),
    error_page: Callable[[int, str], Response[str]] | None = None,
) -> Litestar:
    """The application over parts that the caller closes; `beside` is served with it."""

    def on_refused(request: _Anything, error: HostRefused) -> Response[bytes]:
        kind = error.refusal.kind
        _log.info("refused", extra={"kind": kind, "path": request.scope["path"]})
        return refusal(error, context.clock())

    def on_http_error(request: _Anything, error: HTTPException) -> Response[Any]:
        """A page for browsers, JSON for programs."""
        if error_page is not None and "text/html" in request.headers.get("accept", ""):
            return error_page(error.status_code, error.detail)
        return _in_json(request, error)

    return Litestar(
        [
            host_router(context),
            *public_handlers(context),
            *operator_handlers(context),
            bundle_file(context),
            *pages,
        ],
        openapi_config=OpenAPIConfig(
            title="ipmicra coordinator",
            version=__version__,
            render_plugins=[JsonRenderPlugin()],
            components=Components(security_schemes={"token": BEARER_TOKEN}),
        ),
        middleware=[measure_requests],
        logging_config=None,  # the caller configures logging
        exception_handlers={
            HostRefused: on_refused,
            ApiTokenRefused: _token_refused,
            PoolBusy: too_busy,
            OperatorFault: _bad_request,
            Fault: _unavailable,
            OperationalError: _unavailable,
            OverflowError: _out_of_range,
            DataError: _out_of_range,
            HTTPException: on_http_error,
        },
    )


def _in_json(_: _Anything, error: HTTPException) -> Response[dict[str, object]]:
    """A refusal by the framework, as JSON for every route."""
    body: dict[str, object] = {"status_code": error.status_code, "detail": error.detail}
    if error.extra:
        body["extra"] = error.extra
    return Response(
        body, status_code=error.status_code, media_type=MediaType.JSON, headers=error.headers
    )


def _token_refused(_: _Anything, error: ApiTokenRefused) -> Response[dict[str, object]]:
    body: dict[str, object] = {"status_code": error.status, "detail": str(error)}
    headers = {"www-authenticate": "Bearer"} if error.status == 401 else {}
    return Response(body, status_code=error.status, media_type=MediaType.JSON, headers=headers)


def _out_of_range(_: _Anything, error: Exception) -> Response[dict[str, object]]:
    """A number too large for the database, in any field: the sender's fault."""
    body: dict[str, object] = {"status_code": 400, "detail": "a value is out of range"}
    return Response(body, status_code=400, media_type=MediaType.JSON)


def _bad_request(_: _Anything, error: OperatorFault) -> Response[dict[str, object]]:
    body: dict[str, object] = {"status_code": 400, "detail": str(error)}
    return Response(body, status_code=400, media_type=MediaType.JSON)


def _unavailable(_: _Anything, error: Exception) -> Response[dict[str, object]]:
    """Disk or database: the host keeps what it has and tries again."""
    _log.error("cannot answer", extra={"why": str(error)})
    detail = "the coordinator cannot do this now; try again later"
    body: dict[str, object] = {"status_code": 503, "detail": detail}
    return Response(body, status_code=503, media_type=MediaType.JSON)
