"""An operator's forms -> registered hosts, operator commands, submitted pages, a passphrase.

Invariant: each of them needs a session and a form with our token. A join token is shown once, in the response
to the form, and is not stored.
"""

from __future__ import annotations

from collections.abc import Callable

import htpy as h
from litestar import Response, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection

from ipmicra.coordinator.admin import commands, sessions, submission
from ipmicra.coordinator.admin.crawler_states import OperatorCommand
from ipmicra.coordinator.api.context import CoordinatorContext
from ipmicra.coordinator.bundles.publishing import published_versions
from ipmicra.errors import OperatorFault
from ipmicra.web.components import notice, panel
from ipmicra.web.navigation import page
from ipmicra.web.session import FORM_BYTES_MAX, HttpRequest, SessionGuard, Visitor

URLS_MAX = 1_000
CONTACT_CHARACTERS_MAX = 200
_REASON = "by the operator"

Telling = Callable[[Connection, str, float], object]
WISHES: dict[str, Telling] = {
    OperatorCommand.PAUSE: lambda connection, name, now_s: commands.pause(
        connection, name, _REASON, now_s
    ),
    OperatorCommand.RESUME: commands.resume,
    OperatorCommand.RETIRE: lambda connection, name, now_s: commands.retire(
        connection, name, _REASON, now_s
    ),
    OperatorCommand.REVOKE: commands.revoke,
}


def admin_handlers(context: CoordinatorContext, gate: SessionGuard) -> list[HTTPRouteHandler]:
    @get("/admin", include_in_schema=False)
    async def admin(request: HttpRequest) -> Response[str]:
        return admin_page(await gate.operator(request))

    @post("/admin/hosts", include_in_schema=False, status_code=200, request_max_body_size=FORM_BYTES_MAX)
    async def register(request: HttpRequest) -> Response[str]:
        visit = await gate.operator(request)
        form = await gate.form(request, visit)
        name = form.get("name", "").strip().lower()
        try:
            token = await context.run_in_thread(
                _register, context, name, form.get("contact", "").strip()
            )
        except OperatorFault as fault:
            return admin_page(visit, notice(str(fault), "bad"), status=400)
        return _registered_page(
            name, f"{request.base_url}".rstrip("/"), token, context.settings.token_hours
        )

    @post(
        "/admin/hosts/{name:str}/token",
        include_in_schema=False,
        status_code=200,
        request_max_body_size=FORM_BYTES_MAX,
    )
    async def renew(request: HttpRequest, name: FromPath[str]) -> Response[str]:
        visit = await gate.operator(request)
        await gate.form(request, visit)
        token = await context.run_in_thread(_renew, context, name)
        address = f"{request.base_url}".rstrip("/")
        return _registered_page(name, address, token, context.settings.token_hours)

    @post(
        "/admin/hosts/{name:str}/{wanted:str}",
        include_in_schema=False,
        request_max_body_size=FORM_BYTES_MAX,
    )
    async def send_command(request: HttpRequest, name: FromPath[str], wanted: FromPath[str]) -> Redirect:
        visit = await gate.operator(request)
        form = await gate.form(request, visit)
        telling = {**WISHES, **_with_choice(context, form)}
        if wanted not in telling:
            raise OperatorFault(f"unknown command {wanted!r}")
        await context.run_in_thread(_tell, context, name, telling[wanted])
        return Redirect(f"/hosts/{name}", status_code=303)

    @post("/admin/pages", include_in_schema=False, status_code=200, request_max_body_size=FORM_BYTES_MAX)
    async def submit(request: HttpRequest) -> Response[str]:
        visit = await gate.operator(request)
        form = await gate.form(request, visit)
        try:
            given, new = await context.run_in_thread(_submit, context, form.get("urls", "").split())
        except OperatorFault as fault:
            return admin_page(visit, notice(str(fault), "bad"), status=400)
        context.leader_wakeup.set()
        return admin_page(visit, notice(f"{given} submitted, {new} of them new."))

    @post(
        "/admin/passphrase",
        include_in_schema=False,
        status_code=200,
        request_max_body_size=FORM_BYTES_MAX,
    )
    async def passphrase(request: HttpRequest) -> Response[str]:
        visit = await gate.operator(request)
        form = await gate.form(request, visit)
        try:
            await context.run_in_thread(
                _set_passphrase, context, visit.cookie, form.get("passphrase", "")
            )
        except OperatorFault as fault:
            return admin_page(visit, notice(str(fault), "bad"), status=400)
        return admin_page(visit, notice("The passphrase is set; all other sessions have ended."))

    return [admin, register, renew, send_command, submit, passphrase]


def _register(context: CoordinatorContext, name: str, contact: str) -> str:
    with context.database.begin() as connection:
        token_s = context.settings.token_hours * 3600
        return commands.register(
            connection, name, context.clock(), token_s, contact[:CONTACT_CHARACTERS_MAX]
        )


def _renew(context: CoordinatorContext, name: str) -> str:
    with context.database.begin() as connection:
        token_s = context.settings.token_hours * 3_600
        return commands.renew_token(connection, name, context.clock(), token_s)


def _with_choice(context: CoordinatorContext, form: dict[str, str]) -> dict[str, Telling]:
    """Commands whose form has a choice besides the host's name."""
    version, target = form.get("version", ""), form.get("target", "")

    def upgrade(connection: Connection, name: str, now_s: float) -> int:
        published = [] if context.bundles is None else published_versions(context.bundles)
        return commands.upgrade(connection, name, version, published, now_s)

    return {
        OperatorCommand.UPGRADE: upgrade,
        OperatorCommand.MOVE: lambda connection, name, now_s: commands.move(
            connection, name, target, now_s
        ),
    }


def _tell(context: CoordinatorContext, name: str, wanted: Telling) -> None:
    with context.database.begin() as connection:
        wanted(connection, name, context.clock())


def _submit(context: CoordinatorContext, urls: list[str]) -> tuple[int, int]:
    if not 0 < len(urls) <= URLS_MAX:
        raise OperatorFault(f"enter 1 to {URLS_MAX} URLs, one per line")
    with context.database.begin() as connection:
        return submission.submit(connection, urls, context.clock())


def _set_passphrase(context: CoordinatorContext, session: str, words: str) -> None:
    with context.database.begin() as connection:
        sessions.set_passphrase(connection, words)
        sessions.end_other_sessions(connection, session)


# --- pages ----------------------------------------------------------------------------------------


def admin_page(visit: Visitor, message: h.Node = None, status: int = 200) -> Response[str]:
    body = [
        h.h1["Administer"],
        h.p(".lead")[
            "Hosts are paused, retired and revoked on ", h.a(href="/hosts")["their own pages"], "."
        ],
        message,
        h.div(".grid")[_register_form(visit), _submit_form(visit), _session_forms(visit)],
    ]
    return page("Administer", body, here="/admin", status=status)


def _register_form(visit: Visitor) -> h.Element:
    return panel(
        "Register a host",
        h.p(".quiet.small")[
            "A machine that takes part in the crawl. You get a command to run on it, shown once."
        ],
        h.form(".fields", method="post", action="/admin/hosts")[
            visit.hidden(),
            h.label[
                "Name",
                h.input(
                    name="name",
                    required=True,
                    maxlength="63",
                    pattern="[a-z0-9][a-z0-9.\\-]*",
                    placeholder="lima",
                ),
            ],
            h.label[
                "Contact", h.input(name="contact", maxlength="200", placeholder="owner@example.org")
            ],
            h.div[h.button["Register"]],
        ],
    )


def _submit_form(visit: Visitor) -> h.Element:
    return panel(
        "Crawl pages",
        h.p(".quiet.small")["The nearest crawler fetches each page, and follows its links."],
        h.form(".fields", method="post", action="/admin/pages")[
            visit.hidden(),
            h.label[
                "URLs, one per line",
                h.textarea(name="urls", rows="4", required=True, placeholder="https://example.org/"),
            ],
            h.div[h.button["Submit"]],
        ],
    )


def _session_forms(visit: Visitor) -> h.Element:
    return panel(
        "Your session",
        h.form(".fields", method="post", action="/admin/passphrase")[
            visit.hidden(),
            h.label[
                "Set a passphrase to sign in with",
                h.input(
                    type="password",
                    name="passphrase",
                    required=True,
                    minlength=str(sessions.PASSPHRASE_CHARACTERS_MIN),
                    maxlength=str(sessions.PASSPHRASE_CHARACTERS_MAX),
                    autocomplete="new-password",
                ),
            ],
            h.div[h.button(".plain")["Set passphrase"]],
        ],
        h.form(method="post", action="/sign-out")[h.p, visit.hidden(), h.button(".plain")["Sign out"]],
    )


def _registered_page(name: str, address: str, token: str, hours: float) -> Response[str]:
    body = [
        h.h1[f"{name} is registered"],
        h.p(".lead")[
            f"Run these on the machine. The token works once, within {hours:.0f} hours, "
            "and is shown only here."
        ],
        h.section(".panel")[
            h.h2["1. Join"],
            h.p[h.code("#join.copyable")[f"ipmicra host join {address} {token}"]],
            h.h2["2. Work"],
            h.p[h.code(".copyable")["ipmicra host run"]],
            h.p(".quiet.small")[
                "The owner sets hours and limits in the settings table [host] on the machine; "
                "they are shown here, but cannot be changed here."
            ],
        ],
        h.p[h.a(".button", href=f"/hosts/{name}")[f"Watch {name} join"]],
    ]
    return page(f"{name} is registered", body, here="/admin")
