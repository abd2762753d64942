"""A plain query over HTTP -> its answer, without the web framework.

Invariant: an answer is the same as that of the application behind it; tests compare the two. Any other
request (another path, another method, a wrong parameter) is passed on to the application. The framework's
share of a request is a fifth of the time of an answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias
from urllib.parse import parse_qsl

from litestar.exceptions import ValidationException
from litestar.types import ASGIApp, Receive, Scope, Send

from ipmicra.net.bounded_pool import BoundedPool, PoolBusy
from ipmicra.net.rate_limit import send_refusal
from ipmicra.search.contract import SearchIndex
from ipmicra.search.http import responses
from ipmicra.theme.layout import Navigation
from ipmicra.theme.policy import HEADERS

BUSY = "too many questions wait for an answer"
RETRY_SECONDS = 1
_POLICY = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_Answering: TypeAlias = Callable[[responses.SearchContext], bytes]


class SearchFastPath:
    """An ASGI application in front of another."""

    def __init__(
        self, index: SearchIndex, navigation: Navigation, behind: ASGIApp, questions: BoundedPool
    ) -> None:
        self._behind, self._questions = behind, questions
        self._straight: dict[str, tuple[_Answering, bytes]] = {
            responses.API: (partial(responses.search_json, index), b"application/json"),
            responses.PAGE: (partial(responses.page, index, navigation), b"text/html; charset=utf-8"),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answered = await self._answer(scope)
        except PoolBusy:
            await send_refusal(send, 503, BUSY, RETRY_SECONDS)
            return
        if answered is None:
            await self._behind(scope, receive, send)
            return
        body, media_type = answered
        length = str(len(body)).encode()
        headers = [(b"content-type", media_type), (b"content-length", length), *_POLICY]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _answer(self, scope: Scope) -> tuple[bytes, bytes] | None:
        if scope.get("method") != "GET" or scope["path"] not in self._straight:
            return None
        answering, media_type = self._straight[scope["path"]]
        try:
            given = parse_qsl(scope["query_string"].decode("ascii"), keep_blank_values=True)
            return await self._questions.run(answering, given), media_type
        except (ValidationException, UnicodeDecodeError):
            return None
