"""A plain question over HTTP -> its answer, without what a framework does around a request.

Law: an answer from here is the one that the application behind it would give; the tests hold both to it.
Whatever is not plainly a question (another address, another method, a wrong parameter) goes on to the
application. What the framework does for each request costs a fifth of a whole answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias
from urllib.parse import parse_qsl

from litestar.exceptions import ValidationException
from litestar.types import ASGIApp, Receive, Scope, Send

from ipmicra.search.contract import SearchIndex
from ipmicra.search.http import responses
from ipmicra.theme.layout import Navigation
from ipmicra.theme.policy import HEADERS

_POLICY = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_Answering: TypeAlias = Callable[[responses.SearchContext], bytes]


class SearchFastPath:
    """An ASGI application in front of another."""

    def __init__(self, index: SearchIndex, navigation: Navigation, behind: ASGIApp) -> None:
        self._behind = behind
        self._straight: dict[str, tuple[_Answering, bytes]] = {
            responses.API: (partial(responses.found, index), b"application/json"),
            responses.PAGE: (partial(responses.page, index, navigation), b"text/html; charset=utf-8"),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answered = self._answered(scope)
        if answered is None:
            await self._behind(scope, receive, send)
            return
        body, media_type = answered
        length = str(len(body)).encode()
        headers = [(b"content-type", media_type), (b"content-length", length), *_POLICY]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _answered(self, scope: Scope) -> tuple[bytes, bytes] | None:
        if scope.get("method") != "GET" or scope["path"] not in self._straight:
            return None
        answering, media_type = self._straight[scope["path"]]
        try:
            given = parse_qsl(scope["query_string"].decode("ascii"), keep_blank_values=True)
            return answering(given), media_type
        except (ValidationException, UnicodeDecodeError):
            return None
