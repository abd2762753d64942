"""HEAD -> what GET would answer, without its body: for monitors, which ask so.

Invariant: wherever GET is answered HEAD is, with the same status and headers; a stream is not begun for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

_Message: TypeAlias = MutableMapping[str, Any]
_Receive: TypeAlias = Callable[[], Awaitable[_Message]]
_Send: TypeAlias = Callable[[_Message], Awaitable[None]]
AsgiApplication: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class _Answered(BaseException):
    """The head has been sent; anything that the application sends after it is dropped."""


class HeadRequests:
    """An ASGI application in front of another."""

    def __init__(self, application: AsgiApplication) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._application(scope, receive, send)
            return

        async def send_head(message: _Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                raise _Answered

        try:
            await self._application({**scope, "method": "GET"}, receive, send_head)
        except _Answered:
            return
