"""Requests -> counters and histograms by route, method and status.

Invariant: the label is the route's template, never the path that was asked for, so there are no more series
than routes.
"""

from __future__ import annotations

import time

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from ipmicra.coordinator.metrics import REQUEST_TIME, REQUESTS, SEARCH

_SEARCHES = frozenset({"/search", "/api/search"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE"})


def measure_requests(app: ASGIApp) -> ASGIApp:
    """Litestar calls it for each application that has routes."""

    async def measure(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.WEBSOCKET:
            await app(scope, receive, send)
            return
        start, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - start
            route = str(scope.get("path_template") or "unmatched")
            method = str(scope.get("method"))
            method = method if method in _METHODS else "other"
            REQUESTS.labels(route, method, str(status)).inc()
            REQUEST_TIME.labels(route).observe(seconds)
            if route in _SEARCHES:
                SEARCH.observe(seconds)

    return measure
