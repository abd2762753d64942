"""Pages whose delta arrived but whose base the index lacks -> orders to their owners to send them whole.

Invariant: a page is requested from the host that owns its site, at most once within `ASK_AGAIN_S`, and only
if the host supports the order; other hosts send the page whole with one of its next visits. A page that has
arrived whole is no longer wanted by the index, and is not requested again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection

from ipmicra.coordinator.store import blobs, orders, sites
from ipmicra.coordinator.store.sites import SiteStatus
from ipmicra.model.urls import Url, site_of
from ipmicra.protocol.host_messages import SendWhole, kind_of

URLS_PER_ORDER_MAX = 200
ASK_AGAIN_S = 3600.0
_KIND = kind_of(SendWhole)
_KEY = "wanted by the index"  # one open order per host


def ask(connection: Connection, wanted: Iterable[str], now_s: float) -> int:
    """Order wanted pages that were not requested lately. Returns the number of pages."""
    owned: dict[str, list[str]] = {}
    owners: dict[str, str | None] = {}
    for url in wanted:
        site = site_of(Url(url))
        if site not in owners:
            owners[site] = _owner(connection, site)
        if (owner := owners[site]) is not None:
            owned.setdefault(owner, []).append(url)
    return sum(_order(connection, owner, urls, now_s) for owner, urls in owned.items())


def _owner(connection: Connection, site: str) -> str | None:
    row = sites.site_named(connection, site)
    return row.crawler if row is not None and row.state is SiteStatus.DELEGATED else None


def _order(connection: Connection, host: str, urls: list[str], now_s: float) -> int:
    if _KIND not in orders.supported_kinds(connection, host) or orders.is_open(
        connection, host, _KIND, _KEY
    ):
        return 0
    asked = {url: at_s for url, at_s in _asked(connection, host).items() if at_s > now_s - ASK_AGAIN_S}
    due = [url for url in urls if url not in asked][:URLS_PER_ORDER_MAX]
    if due:
        orders.give(connection, host, SendWhole(urls=tuple(due)), _KEY, now_s)
        body = msgspec.json.encode(asked | dict.fromkeys(due, now_s))
        blobs.save(connection, _name(host), body, now_s)
    return len(due)


def _asked(connection: Connection, host: str) -> dict[str, float]:
    """The time of the last request, by page."""
    kept = blobs.read(connection, _name(host))
    return {} if kept is None else msgspec.json.decode(kept, type=dict[str, float])


def _name(host: str) -> str:
    return f"resend {hashlib.sha256(host.encode()).hexdigest()[:40]}"
