"""Exceptions of page handlers -> an error page, or a redirect to the sign-in page."""

from __future__ import annotations

import htpy as h
from litestar import Response
from litestar.exceptions import HTTPException
from litestar.response import Redirect
from litestar.types import ExceptionHandlersMap

from ipmicra.errors import OperatorFault
from ipmicra.web.navigation import page
from ipmicra.web.session import CsrfError, HttpRequest, NotSignedIn


def _to_the_door(_: HttpRequest, __: NotSignedIn) -> Redirect:
    return Redirect("/enter", status_code=303)


def _forged(_: HttpRequest, __: CsrfError) -> Response[str]:
    text = "This form was not created for your browser by this site, or your session has ended."
    return _said("Refused: nothing was done", text, 403)


def _wrongly_asked(_: HttpRequest, fault: OperatorFault) -> Response[str]:
    return _said("That did not work", str(fault), 400)


def _other(_: HttpRequest, error: HTTPException) -> Response[str]:
    return error_page(error.status_code, error.detail)


def error_page(status: int, detail: str) -> Response[str]:
    """The page for an unknown address or a wrong request."""
    if status == 404:
        return _said("There is no such page", "The address may be mistyped, or the page is gone.", 404)
    return _said("That did not work", detail, status)


def _said(title: str, text: str, status: int) -> Response[str]:
    body = [h.h1[title], h.p[text], h.p[h.a(href="/")["To the overview"]]]
    return page(title, body, status=status)


REFUSALS: ExceptionHandlersMap = {
    NotSignedIn: _to_the_door,
    CsrfError: _forged,
    OperatorFault: _wrongly_asked,
    HTTPException: _other,
}
