"""A one-time link or a passphrase -> a session; sign-out ends it.

The token of a link follows its #, which browsers do not send to a server: it appears in no log and no
referrer. A script copies it into the form; without scripts, the user pastes it.
"""

from __future__ import annotations

import logging

import htpy as h
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect

from ipmicra.coordinator.admin import sessions
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.net.http_server import client_key
from ipmicra.web.components import notice
from ipmicra.web.navigation import page
from ipmicra.web.session import (
    FORM_BYTES_MAX,
    HttpRequest,
    SessionGuard,
    Visitor,
    no_session_cookie,
    session_cookie,
    visit_cookies,
)
from ipmicra.web.sign_in_throttle import WINDOW_SECONDS, SignInThrottle

SECRET_CHARACTERS_MAX = 1_000

_log = logging.getLogger(__name__)


def link_to(address: str, token: str) -> str:
    return f"{address.rstrip('/')}/enter#{token}"


def entering_handlers(context: CoordinatorContext, gate: SessionGuard) -> list[HTTPRouteHandler]:
    throttle = SignInThrottle()

    @get("/enter", include_in_schema=False)
    async def enter(request: HttpRequest) -> Response[str] | Redirect:
        visit = await gate.visit(request)
        if visit.signed_in:
            return Redirect("/admin", status_code=303)
        return _page(request, visit)

    @post("/enter", include_in_schema=False, request_max_body_size=FORM_BYTES_MAX)
    async def sign_in(request: HttpRequest) -> Response[str] | Redirect:
        visit = await gate.visit(request)
        form = await gate.form(request, visit)
        address = client_key(request.client.host) if request.client is not None else ""
        secret = form.get("secret", "").strip()
        session = await context.run_in_thread(_use_link, context, secret)
        if session is None and not throttle.allows(address, context.clock()):
            _log.warning("too many tries to sign in", extra={"address": address})
            return _too_often(request, visit)
        if session is None:
            session = await context.questions.run(_use_passphrase, context, secret)
        if session is None:
            _log.warning("sign-in refused", extra={"address": address})
            return _page(request, visit, "This is not the passphrase, and not a valid token.", 403)
        throttle.forgive(address)
        _log.info("an operator signed in", extra={"address": address})
        return Redirect("/admin", status_code=303, cookies=[session_cookie(request, session)])

    @post("/sign-out", include_in_schema=False, request_max_body_size=FORM_BYTES_MAX)
    async def sign_out(request: HttpRequest) -> Redirect:
        visit = await gate.operator(request)
        await gate.form(request, visit)
        await context.run_in_thread(_let_out, context, visit.cookie)
        return Redirect("/", status_code=303, cookies=[no_session_cookie(request)])

    return [enter, sign_in, sign_out]


def _use_link(context: CoordinatorContext, secret: str) -> str | None:
    """A session token, if the secret is a valid link token. Nobody guesses one, so no throttle is needed: the
    operator gets in whoever else tries.
    """
    if not 0 < len(secret) <= SECRET_CHARACTERS_MAX:
        return None
    now_s = context.clock()
    with context.database.read() as connection:
        if not sessions.is_link(connection, secret, now_s):
            return None
    with context.database.begin() as connection:
        used = sessions.use_link(connection, secret, now_s)
        return sessions.begin_session(connection, now_s) if used else None


def _use_passphrase(context: CoordinatorContext, secret: str) -> str | None:
    if not 0 < len(secret) <= SECRET_CHARACTERS_MAX:
        return None
    with context.database.read() as connection:
        fits = sessions.is_passphrase(connection, secret)
    if not fits:
        return None
    with context.database.begin() as connection:
        return sessions.begin_session(connection, context.clock())


def _too_often(request: HttpRequest, visit: Visitor) -> Response[str]:
    minutes = f"{WINDOW_SECONDS / 60:.0f}"
    words = f"Too many tries with a passphrase. Wait {minutes} minutes, or use a one-time link."
    answer = _page(request, visit, words, status=429)
    answer.headers["retry-after"] = f"{WINDOW_SECONDS:.0f}"
    return answer


def _let_out(context: CoordinatorContext, session: str) -> None:
    with context.database.begin() as connection:
        sessions.end_session(connection, session)


def _page(request: HttpRequest, visit: Visitor, complaint: str = "", status: int = 200) -> Response[str]:
    body = [
        h.h1["Sign in"],
        h.p(".lead")["Reading needs no account; registering and administering hosts needs a session."],
        notice(complaint, "bad") if complaint else None,
        h.form(".fields.panel", method="post", action="/enter")[
            visit.hidden(),
            h.label[
                "One-time token or passphrase",
                h.input(
                    "#secret",
                    type="password",
                    name="secret",
                    required=True,
                    maxlength=str(SECRET_CHARACTERS_MAX),
                    autocomplete="current-password",
                    autofocus=True,
                ),
            ],
            h.p(".quiet.small")[
                "A new one-time link: ",
                h.code["ipmicra coordinator admin-link"],
                " on the coordinator's machine.",
            ],
            h.div[h.button["Sign in"]],
        ],
    ]
    answer = page("Sign in", body, here="/admin", scripts=("enter.js",), status=status)
    answer.cookies = visit_cookies(request, visit)
    return answer
