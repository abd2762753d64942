"""A request -> the visitor, and whether a form in it is ours.

A visitor has a cookie of random bytes; an operator who has signed in has a session cookie. The token in a
form is derived from the cookie, so a form that was not created for this browser is detected; a form sent by
another site is refused by its origin before that.

Invariant: no secret is logged, sent in a URL, or readable by a script.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import htpy as h
from litestar import Request
from litestar.datastructures import Cookie, State

from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.admin.sessions import SESSION_COOKIE
from ipmicra.coordinator.api.context import CoordinatorContext

VISIT_COOKIE = "ipmicra_visit"
FORM_BYTES_MAX = 256 << 10

HttpRequest = Request[Any, Any, State]


class NotSignedIn(Exception):
    """The request needs a session."""


class CsrfError(Exception):
    """A form that did not come from a page of ours."""


class Visitor(NamedTuple):
    """The sender of a request. Their forms are bound to `cookie`; `fresh` means that it must still be
    set.
    """

    cookie: str
    signed_in: bool
    fresh: bool = False

    @property
    def form_token(self) -> str:
        return hashlib.sha256(b"form\0" + self.cookie.encode()).hexdigest()

    def hidden(self) -> h.VoidElement:
        """The hidden fields of every form."""
        return h.input(type="hidden", name="form_token", value=self.form_token)


class SessionGuard:
    """Checks sessions and forms."""

    def __init__(self, context: CoordinatorContext) -> None:
        self._context = context

    async def visit(self, request: HttpRequest) -> Visitor:
        """The visitor, signed in or not."""
        session = request.cookies.get(SESSION_COOKIE, "")
        lives = bool(session) and await self._context.run_in_thread(self._lives, session)
        if lives:
            return Visitor(session, True)
        known = request.cookies.get(VISIT_COOKIE, "")
        return Visitor(known, False) if known else Visitor(secrets.token_urlsafe(24), False, True)

    async def operator(self, request: HttpRequest) -> Visitor:
        """The operator of the session. Raises NotSignedIn."""
        visit = await self.visit(request)
        if not visit.signed_in:
            raise NotSignedIn
        return visit

    async def form(self, request: HttpRequest, visit: Visitor) -> dict[str, str]:
        """The fields of a form that is ours. Raises CsrfError."""
        if not _from_here(request):
            raise CsrfError
        sent = {key: value for key, value in (await request.form()).items() if isinstance(value, str)}
        given = sent.pop("form_token", "")
        if visit.fresh or not hmac.compare_digest(given.encode(), visit.form_token.encode()):
            raise CsrfError
        return sent

    def _lives(self, session: str) -> bool:
        with self._context.database.begin() as connection:
            return sessions.touch_session(connection, session, self._context.clock())


def _from_here(request: HttpRequest) -> bool:
    """The browser's word on where the form stood. Behind a proxy only the name is known for certain."""
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    origin = urlsplit(request.headers.get("origin", ""))
    return bool(origin.netloc) and origin.netloc == request.headers.get("host", "")


def session_cookie(request: HttpRequest, token: str) -> Cookie:
    return _cookie(request, SESSION_COOKIE, token, int(sessions.SESSION_SECONDS_MAX))


def no_session_cookie(request: HttpRequest) -> Cookie:
    return _cookie(request, SESSION_COOKIE, "", 0)


def visit_cookies(request: HttpRequest, visit: Visitor) -> list[Cookie]:
    """To be set with a page that has a form."""
    return [_cookie(request, VISIT_COOKIE, visit.cookie, None)] if visit.fresh else []


def _cookie(request: HttpRequest, name: str, value: str, age_s: int | None) -> Cookie:
    return Cookie(
        key=name,
        value=value,
        path="/",
        max_age=age_s,
        httponly=True,
        samesite="strict",
        secure=request.scope["scheme"] == "https",
    )
