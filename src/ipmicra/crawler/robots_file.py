"""A site -> its robots.txt, asked for politely and remembered for a day at most.

Executes what `decisions.robots` decides. Invariant: no answer blocks the site as a refusal does, and is
asked for again when the block is over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from ipmicra.crawler.decisions.politeness import after_refusal
from ipmicra.crawler.decisions.robots import (
    ALLOW_ALL,
    CACHE_SECONDS_MAX,
    DISALLOW_ALL,
    REDIRECTS_MAX,
    ROBOTS_BYTES_MAX,
    Robots,
    RobotsVerdict,
    parse_robots,
    verdict_on_status,
)
from ipmicra.crawler.fetching.redirects import redirect_target
from ipmicra.crawler.frontier.entries import FrontierSite
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, FetchOutcome, FetchRequest
from ipmicra.model.records import VisitFailed
from ipmicra.model.urls import url_at

DETAIL_CHARACTERS_MAX = 500
LARGE_FILE_BYTES = 16 << 10  # one in a hundred; the largest allowed take a quarter of a second to read
UNAVAILABLE = 404  # how every answer is remembered that allows everything


def robots_of(site: FrontierSite, product: str) -> Robots:
    """The rules of a site's robots.txt, as last fetched."""
    verdict = verdict_on_status(site.robots_status)
    if verdict is RobotsVerdict.PARSE:
        return parse_robots(site.robots_body, product)
    return DISALLOW_ALL if verdict is RobotsVerdict.DISALLOW_ALL else ALLOW_ALL


async def read_robots(site: FrontierSite, product: str) -> Robots:
    """The same, without holding up the event loop where the file is large."""
    if len(site.robots_body) < LARGE_FILE_BYTES:
        return robots_of(site, product)
    return await asyncio.to_thread(robots_of, site, product)


def is_current(site: FrontierSite, now: float) -> bool:
    """Whether what is kept of robots.txt still holds. More than a day ahead means that a clock was wrong."""
    return now < site.robots_until <= now + CACHE_SECONDS_MAX


async def fetch_robots(
    site: FrontierSite, request: Callable[[FetchRequest, bool], Awaitable[FetchOutcome]]
) -> FetchOutcome:
    """Fetch robots.txt, over redirects, into `site`; return the last response.

    `request` also receives whether a redirect led there.
    """
    url = str(url_at(site.site, "/robots.txt"))
    for redirects in range(REDIRECTS_MAX + 1):
        outcome = await request(
            FetchRequest(url=url, accept="text/plain,*/*;q=0.1", body_bytes_max=ROBOTS_BYTES_MAX),
            redirects > 0,
        )
        status = outcome.status if isinstance(outcome, Fetched) else None
        verdict = verdict_on_status(status, redirects)
        target = redirect_target(outcome) if verdict is RobotsVerdict.REDIRECT else None
        if target is None:
            break
        url = target
    _keep(site, outcome, verdict, time.time())
    return outcome


def unreachable_robots(site: FrontierSite, outcome: FetchOutcome) -> VisitFailed:
    """The record of a robots.txt that cannot be fetched; without it no record of the site would be sent."""
    now_ms = int(time.time() * 1000)
    if isinstance(outcome, Fetched):
        detail = f"status {outcome.status}"
    else:
        detail = f"{outcome.kind.value}: {outcome.detail[:DETAIL_CHARACTERS_MAX]}"
    url = str(url_at(site.site, "/robots.txt"))
    # These fetches have no count: the clock is used as the visit number.
    kind = FailureKind.ROBOTS_UNREACHABLE.value
    return VisitFailed(url=url, visit=now_ms, fetched_at_ms=now_ms, kind=kind, detail=detail)


def _keep(site: FrontierSite, outcome: FetchOutcome, verdict: RobotsVerdict, now: float) -> None:
    site.robots_body = b""
    if verdict is RobotsVerdict.DISALLOW_ALL:
        site.clock = after_refusal(site.clock, now, None)
        site.robots_status, site.robots_until = None, site.clock.blocked_until
        return
    site.robots_status, site.robots_until = UNAVAILABLE, now + CACHE_SECONDS_MAX
    if verdict is RobotsVerdict.PARSE and isinstance(outcome, Fetched):
        site.robots_status, site.robots_body = outcome.status, outcome.body
