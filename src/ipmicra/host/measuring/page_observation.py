"""A page that another crawler has sent -> how it looks from here, for the coordinator to compare.

Invariant: one request, no redirect followed: the other crawler's page was at exactly this URL. It obeys
the site's robots.txt, its crawl delay and the clocks of site and address as every visit does, for any
order of the coordinator; the number per hour is small, so that a coordinator cannot direct hosts against
a site.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque

from ipmicra.crawler.decisions.politeness import PolitenessClock, PolitenessPolicy
from ipmicra.crawler.decisions.robots import DISALLOW_ALL, Robots
from ipmicra.crawler.frontier.entries import FrontierSite
from ipmicra.crawler.parsing.jobs import ParseJob
from ipmicra.crawler.parsing.pool import ParserKilled, ParserPool, ParsersBusy
from ipmicra.crawler.plan import CrawlPlan
from ipmicra.crawler.politeness_gate import PolitenessGate
from ipmicra.crawler.robots_file import fetch_robots, is_current, read_robots
from ipmicra.model.fetches import Fetched, Fetcher, FetchFailed, FetchOutcome, FetchRequest
from ipmicra.model.urls import Site, path_of, site_of
from ipmicra.protocol.host_messages import PageObservation

PER_HOUR_MAX = 120  # of all sites
PER_SITE_PER_HOUR_MAX = 10
TURN_SECONDS_MAX = 30.0  # a site whose next turn is further off is not looked at
SITES_REMEMBERED = 1_000
_HOUR_S = 3_600.0


class PageObserver:
    """Looks at pages, as politely as a crawler. It remembers sites' robots.txt and clocks."""

    def __init__(self) -> None:
        self._sites: OrderedDict[Site, FrontierSite] = OrderedDict()
        self._begun: deque[tuple[float, Site]] = deque()

    async def observe(
        self, web: Fetcher, url: str, plan: CrawlPlan, gate: PolitenessGate, parsers: ParserPool
    ) -> PageObservation:
        """`gate` is the running crawl's, so that both share the clocks of addresses."""
        normal = plan.normaliser.url(url)
        if normal is None:
            return PageObservation(url=url, detail="not a URL")
        site = site_of(normal)
        if not self._may_begin(site, time.monotonic()):
            return PageObservation(url=url, detail="too many looks within an hour")
        visit = _Visit(web, gate, plan.policy_for(site), self._site_state(site))
        try:
            robots = await visit.robots(plan.settings.product)
            if robots is DISALLOW_ALL or not robots.allows(path_of(normal)):
                return PageObservation(url=url, detail="robots.txt forbids it")
            outcome = await visit.request(FetchRequest(url=normal))
        except _TurnFarOff:
            return PageObservation(
                url=url, detail="the next allowed request to the site is too far ahead"
            )
        return await _observation(url, outcome, parsers)

    def _may_begin(self, site: Site, now: float) -> bool:
        while self._begun and self._begun[0][0] < now - _HOUR_S:
            self._begun.popleft()
        of_site = sum(begun == site for _, begun in self._begun)
        if len(self._begun) >= PER_HOUR_MAX or of_site >= PER_SITE_PER_HOUR_MAX:
            return False
        self._begun.append((now, site))
        return True

    def _site_state(self, site: Site) -> FrontierSite:
        known = self._sites.pop(site, None) or FrontierSite(0, site, PolitenessClock())
        self._sites[site] = known
        if len(self._sites) > SITES_REMEMBERED:
            self._sites.popitem(last=False)
        return known


class _TurnFarOff(Exception):
    """The next request may begin only after a wait that is too long."""


class _Visit:
    def __init__(
        self, web: Fetcher, gate: PolitenessGate, policy: PolitenessPolicy, site: FrontierSite
    ) -> None:
        self._web, self._gate, self._manners, self._site = web, gate, policy, site
        self._crawl_delay_seconds: float | None = None

    async def robots(self, product: str) -> Robots:
        if not is_current(self._site, time.time()):
            await fetch_robots(self._site, lambda request, _: self.request(request))
        robots = await read_robots(self._site, product)
        if robots.crawl_delay_seconds is not None:
            self._crawl_delay_seconds = robots.crawl_delay_seconds
            began = max(self._site.clock.next_at, time.time())
            self._site.clock.next_at = max(began, time.time() + robots.crawl_delay_seconds)
        return robots

    async def request(self, request: FetchRequest) -> FetchOutcome:
        located = await self._web.locate(request.url)
        if isinstance(located, FetchFailed):
            return located
        address, until = str(located), time.time() + TURN_SECONDS_MAX
        while (ready_at := await self._gate.acquire(self._site, address, self._manners)) is not None:
            if ready_at > until:
                raise _TurnFarOff
            await asyncio.sleep(max(ready_at - time.time(), 0.0))
        began, outcome = time.monotonic(), None
        try:
            outcome = await self._web.fetch(request)
            return outcome
        finally:
            answer = outcome if isinstance(outcome, Fetched) else None
            self._gate.finish(
                self._site,
                address,
                self._manners,
                time.monotonic() - began,
                self._crawl_delay_seconds,
                answer.status if answer else None,
                answer.headers.get("retry-after") if answer else None,
            )


async def _observation(url: str, outcome: FetchOutcome, parsers: ParserPool) -> PageObservation:
    if not isinstance(outcome, Fetched):
        return PageObservation(url=url, detail=outcome.detail)
    if outcome.status != 200:
        return PageObservation(url=url, detail=f"status {outcome.status}")
    content_type = outcome.headers.get("content-type") or ""
    try:
        page = (
            await parsers.parse(ParseJob(body=outcome.body, content_type=content_type, url=url))
        ).page
    except (ParserKilled, ParsersBusy) as killed:
        return PageObservation(url=url, detail=f"it could not be read: {killed}")
    return PageObservation(
        url=url, content_hash=page.content_hash.hex(), similarity_hash=page.similarity_hash
    )
