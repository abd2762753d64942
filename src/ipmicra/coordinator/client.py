"""A coordinator's address -> its answers, typed: for other crawlers and tools.

    from ipmicra.coordinator.client import CoordinatorClient

    client = CoordinatorClient("http://127.0.0.1:8790")
    print(client.nearest("https://example.org/").crawler)

Invariant: needs nothing but the standard library and msgspec; every failure is one of `ipmicra.errors`.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from typing import TypeVar

import msgspec

from ipmicra.errors import OperatorFault, SiteFault
from ipmicra.model.search import SearchAnswer
from ipmicra.protocol.coordinator_api import AlertList, CoordinatorStatus, Explanation, Nearest

ANSWER_BYTES_MAX = 64 << 20
PATIENCE_SECONDS = 30.0

ResponseType = TypeVar("ResponseType")


class CoordinatorClient:
    """Asks one coordinator. Safe to share between threads."""

    def __init__(self, coordinator: str, patience_s: float = PATIENCE_SECONDS) -> None:
        if not coordinator.startswith(("http://", "https://")):
            raise OperatorFault(
                f"{coordinator!r} is not a coordinator's address; write http(s)://NAME:PORT"
            )
        self._coordinator = coordinator.rstrip("/")
        self._patience_s = patience_s

    def nearest(self, url: str, wait_s: float = 5.0) -> Nearest:
        """Which crawler is nearest to the URL's site; a new site is probed, for at most `wait_s`."""
        return self._get("/v1/nearest", {"url": url, "wait": f"{wait_s:g}"}, Nearest, wait_s)

    def explain(self, url: str) -> Explanation:
        """Who has the URL's site, and why."""
        return self._get("/v1/explain", {"url": url}, Explanation)

    def status(self) -> CoordinatorStatus:
        """Hosts, sites, orders and packages, counted."""
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

    def _get(
        self, path: str, query: dict[str, str], kind: type[ResponseType], wait_s: float = 0.0
    ) -> ResponseType:
        address = f"{self._coordinator}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=self._patience_s + wait_s) as answer:  # noqa: S310 - asked for
                return msgspec.json.decode(answer.read(ANSWER_BYTES_MAX), type=kind)
        except urllib.error.HTTPError as error:
            with error:
                raise _fault(address, error) from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise SiteFault(
                f"no coordinator answers at {self._coordinator} ({reason}); is it running, and is this its "
                "address? Give another with --coordinator URL"
            ) from error
        except msgspec.MsgspecError as error:
            raise SiteFault(
                f"{self._coordinator} answers, but not as a coordinator of this version does: {error}"
            ) from error


def _fault(address: str, error: urllib.error.HTTPError) -> OperatorFault | SiteFault:
    try:
        detail = str(msgspec.json.decode(error.read(ANSWER_BYTES_MAX))["detail"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        detail = error.reason
    message = f"asking the coordinator {address}: {error.code}: {detail}"
    return OperatorFault(message) if error.code == 400 else SiteFault(message)
