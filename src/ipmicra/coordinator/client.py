"""A coordinator's address -> its answers, typed: for other crawlers and tools.

    from ipmicra.coordinator.client import CoordinatorClient

    client = CoordinatorClient("http://127.0.0.1:8790")
    print(client.nearest("https://example.org/").crawler)

Invariant: needs nothing but the standard library and msgspec; every failure is one of `ipmicra.errors`. A
token is never sent in clear text over a network, nor to where a redirect leads.
"""

from __future__ import annotations

import http.client
import ipaddress
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from ipmicra.errors import OperatorFault, SiteFault
from ipmicra.model.search import SearchAnswer
from ipmicra.protocol.coordinator_api import (
    SUBMISSION_BYTES_MAX,
    AlertList,
    CoordinatorStatus,
    Explanation,
    Nearest,
    Submission,
    Submitted,
)

ANSWER_BYTES_MAX = 64 << 20
PATIENCE_SECONDS = 30.0

ResponseType = TypeVar("ResponseType")


class InvalidRequest(OperatorFault):
    """The coordinator refuses the request: an argument of it is wrong."""


class TokenRefused(OperatorFault):
    """The token is missing, unknown, expired or revoked, or does not allow the request."""


class CoordinatorAway(SiteFault):
    """No coordinator answers, or it cannot answer now. The same request may succeed later."""


_FAULTS: dict[int, type[OperatorFault | SiteFault]] = {  # by status; all others are the coordinator's
    400: InvalidRequest,
    413: InvalidRequest,
    401: TokenRefused,
    403: TokenRefused,
    429: CoordinatorAway,
    503: CoordinatorAway,
}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


class CoordinatorClient:
    """Asks one coordinator. Safe to share between threads. `token` is needed to submit."""

    def __init__(
        self, coordinator: str, patience_s: float = PATIENCE_SECONDS, *, token: str = ""
    ) -> None:
        self._coordinator = _checked_address(coordinator)
        self._patience_s = patience_s
        self._headers = _token_headers(self._coordinator, token)
        self._opener = urllib.request.build_opener(*[_NoRedirects] if token else [])

    def nearest(self, url: str, wait_s: float = 5.0) -> Nearest:
        """Which crawler is nearest to the URL's site; a new site is probed, for at most `wait_s`."""
        return self._get("/v1/nearest", {"url": url, "wait": f"{wait_s:g}"}, Nearest, wait_s)

    def explain(self, url: str) -> Explanation:
        """Who has the URL's site, and why."""
        return self._get("/v1/explain", {"url": url}, Explanation)

    def status(self) -> CoordinatorStatus:
        """Hosts, sites, orders and packages, counted. The addresses of hosts need a token."""
        return self._get("/v1/status", {}, CoordinatorStatus)

    def errors(self) -> AlertList:
        """What goes wrong, by kind, with who can fix it and how."""
        return self._get("/v1/errors", {}, AlertList)

    def search(
        self, text: str, *, limit: int = 10, offset: int = 0, every: bool = False
    ) -> SearchAnswer:
        """Pages that answer the query, best first; one of each site, or `every` one."""
        query = {
            "q": text,
            "limit": f"{limit}",
            "offset": f"{offset}",
            "every": "true" if every else "false",
        }
        return self._get("/api/search", query, SearchAnswer)

    def submit(self, *urls: str) -> Submitted:
        """Submit pages to crawl. Safe to repeat. Needs a token with the scope `submit`."""
        body = msgspec.json.encode(Submission(urls=list(urls)))
        if len(body) > SUBMISSION_BYTES_MAX:  # the coordinator would close the connection half-way
            raise InvalidRequest(
                f"submitting {len(urls)} URLs: {len(body):,} bytes, more than {SUBMISSION_BYTES_MAX:,}; "
                "submit in several requests"
            )
        headers = {**self._headers, "content-type": "application/json"}
        request = urllib.request.Request(  # noqa: S310 - http or https, checked
            f"{self._coordinator}/v1/submit", data=body, headers=headers, method="POST"
        )
        return self._ask(request, Submitted, self._patience_s)

    def _get(
        self, path: str, query: Mapping[str, str], kind: type[ResponseType], wait_s: float = 0.0
    ) -> ResponseType:
        address = f"{self._coordinator}{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(address, headers=self._headers)  # noqa: S310 - http or https, checked
        return self._ask(request, kind, self._patience_s + wait_s)

    def _ask(
        self, request: urllib.request.Request, kind: type[ResponseType], patience_s: float
    ) -> ResponseType:
        try:
            with self._opener.open(request, timeout=patience_s) as answer:
                return msgspec.json.decode(answer.read(ANSWER_BYTES_MAX), type=kind)
        except urllib.error.HTTPError as error:
            with error:
                raise _fault(request.full_url, error) from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise CoordinatorAway(
                f"no coordinator answers at {self._coordinator} ({reason}); is it running, and is this its "
                "address? Give another with --coordinator URL"
            ) from error
        except (msgspec.MsgspecError, http.client.HTTPException) as error:
            raise SiteFault(
                f"{self._coordinator} answers, but not as a coordinator of this version does: {error}"
            ) from error


def _checked_address(coordinator: str) -> str:
    try:
        parts = urllib.parse.urlsplit(coordinator)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not coordinator.isprintable() or " " in coordinator or not coordinator.isascii():
        raise OperatorFault(f"{coordinator!r} is not a coordinator's address; write http(s)://NAME:PORT")
    return coordinator.rstrip("/")


def _token_headers(coordinator: str, token: str) -> dict[str, str]:
    if not token:
        return {}
    if not token.isascii() or not token.isprintable() or " " in token:
        raise OperatorFault("that is not a token; ipmicra coordinator token create makes one")
    if not coordinator.startswith("https://") and not _is_here(coordinator):
        raise OperatorFault(
            f"a token is sent over https only, or to this machine, and not to {coordinator}: anybody on the "
            "way could read it"
        )
    return {"authorization": f"Bearer {token}"}


def _is_here(coordinator: str) -> bool:
    name = urllib.parse.urlsplit(coordinator).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _fault(address: str, error: urllib.error.HTTPError) -> OperatorFault | SiteFault:
    message = f"asking the coordinator {address}: {error.code}: {_detail(error)}"
    return _FAULTS.get(error.code, SiteFault)(message)


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(msgspec.json.decode(error.read(ANSWER_BYTES_MAX))["detail"])
    except (msgspec.MsgspecError, KeyError, TypeError, OSError, http.client.HTTPException):
        return error.reason
