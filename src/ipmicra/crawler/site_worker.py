"""One open site -> its requests, made politely one after the other, and what came of each.

A site worker asks for robots.txt first, then takes leased URLs as long as there are any, with as many
workers as the policy towards the site allow connections. Invariant: every request passes through
`_request`, which waits for its turn; no page is asked for that robots.txt forbids; a site worker that
must wait for long gives its leases back and closes.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import deque
from typing import Protocol

from ipmicra.addresses import IPAddress
from ipmicra.crawler.decisions.robots import DISALLOW_ALL
from ipmicra.crawler.decisions.sitemaps import SitemapEntry
from ipmicra.crawler.frontier.entries import FrontierSite, LeasedUrl, RetryLater, VisitOutcome
from ipmicra.crawler.parsing.pool import ParserKilled, ParsersBusy
from ipmicra.crawler.plan import CrawlPlan
from ipmicra.crawler.politeness_gate import PolitenessGate
from ipmicra.crawler.response_handler import ResponseHandler, VisitResult
from ipmicra.crawler.robots_file import fetch_robots, is_current, read_robots, unreachable_robots
from ipmicra.crawler.step_runner import StepRunner
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, Fetcher, FetchFailed, FetchOutcome, FetchRequest
from ipmicra.model.records import Record, VisitFailed
from ipmicra.model.urls import path_of, url_at

PAGE_TYPES = (
    *("text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml"),
    *("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/pdf", ""),
)
DAY_MS = 86_400_000
PARSERS_BUSY_MS = 250  # after that a large page is fetched again for which there was no parser
DEFECT_CHARACTERS_MAX = 500  # of its traceback's end
REDIRECTED_WAIT_SECONDS_MAX = 600.0  # for the turn of a redirected robots.txt
LISTING_TYPES = (*PAGE_TYPES, "application/gzip", "application/x-gzip", "application/octet-stream")


class TurnNotSoon(Exception):
    """The next request may begin only after a wait that is too long for a worker."""

    def __init__(self, ready_at: float) -> None:
        super().__init__(ready_at)
        self.ready_at = ready_at


class SiteWorkerHost(Protocol):
    """The engine as a site worker sees it."""

    plan: CrawlPlan
    fetcher: Fetcher
    politeness: PolitenessGate
    response_handler: ResponseHandler
    steps: StepRunner

    def lease(self, site: FrontierSite) -> list[LeasedUrl]: ...
    def reserve_page(self) -> bool: ...
    def unreserve_page(self) -> None: ...
    def is_foreign(self, address: str) -> bool: ...
    def release_if_foreign(self, site: FrontierSite, address: str) -> bool: ...
    def free_memory_for(self, fetched: Fetched) -> None: ...
    def record_visit(self, site: FrontierSite, result: VisitResult) -> None: ...
    async def record_many_links(self, result: VisitResult) -> None: ...
    def penalise(self, site: FrontierSite, result: VisitResult) -> None: ...
    def on_robots_learned(self, site: FrontierSite) -> None: ...
    def record_fetch(self, site: FrontierSite, outcome: FetchOutcome, address: str) -> None: ...


class SiteWorker:
    """One site while it is open."""

    def __init__(self, site: FrontierSite, engine: SiteWorkerHost) -> None:
        self.site = site
        self._engine = engine
        self._policy = engine.plan.policy_for(site.site)
        self._robots = DISALLOW_ALL
        self._leases: deque[LeasedUrl] = deque()
        self._stopped = False
        self._workers: asyncio.TaskGroup | None = None
        self._working = 0
        self._address: IPAddress | None = None
        self._address_text = ""

    def stop(self) -> None:
        """Begin no further request."""
        self._stopped = True

    async def run(self) -> None:
        """Until nothing is left to fetch now. Leases that are left over are returned."""
        try:
            if await self._is_ours() and await self._load_robots():
                async with asyncio.TaskGroup() as self._workers:
                    self._start_workers()
        except TurnNotSoon as not_soon:
            self.site.clock.next_at = max(self.site.clock.next_at, not_soon.ready_at)
        finally:
            for leased in self._leases:
                self._give_back(leased, leased.due_ms)

    def top_up(self) -> None:
        """New URLs may have been committed: put idle connections of a running site worker to work."""
        if 0 < self._working < self._policy.connections:
            self._start_workers()

    def _start_workers(self) -> None:
        if self._stopped or not self._has_more():
            return
        assert self._workers is not None
        for _ in range(min(self._policy.connections - self._working, len(self._leases))):
            self._working += 1
            self._workers.create_task(self._work())

    async def _is_ours(self) -> bool:
        """Whether this process may ask the site's address; if not, the site leaves with its queue."""
        located = await self._engine.fetcher.locate(url_at(self.site.site, "/"))
        if isinstance(located, FetchFailed):
            return True  # the owner of the address reports it
        return not self._engine.release_if_foreign(self.site, self._text_of(located))

    # --- pages ------------------------------------------------------------------------------------

    async def _work(self) -> None:
        try:
            while not self._stopped and self._knows_robots() and self._has_more():
                leased = self._leases.popleft()
                if not self._robots.allows(path_of(leased.url)):
                    self._forbid(leased)
                elif leased.visit == 0 and not self._engine.reserve_page():
                    self._postpone(leased)
                else:
                    await self._visit(leased)
        finally:
            self._working -= 1

    def _knows_robots(self) -> bool:
        """Whether robots.txt need not be asked for again. If it must, the site worker closes; the
        next one asks.
        """
        self._stopped = self._stopped or not is_current(self.site, time.time())
        return not self._stopped

    def _has_more(self) -> bool:
        if not self._leases and self._engine.plan.budget.allows(
            self.site.pages_fetched, self.site.bytes_fetched
        ):
            self._leases.extend(self._engine.lease(self.site))
        return bool(self._leases)

    def _postpone(self, leased: LeasedUrl) -> None:
        """The crawl's limit is used up. A crawl that only watches now looks at the URL again tomorrow."""
        self._stopped = not self._engine.plan.watch
        due_ms = int(time.time() * 1000) + DAY_MS if self._engine.plan.watch else leased.due_ms
        self._give_back(leased, due_ms)

    async def _visit(self, leased: LeasedUrl) -> None:
        listing = leased.url.endswith(".gz")
        request = FetchRequest(
            url=leased.url,
            etag=leased.etag,
            last_modified=leased.last_modified,
            wanted_types=LISTING_TYPES if listing else PAGE_TYPES,
            connections_max=self._policy.connections,
        )
        try:
            outcome = await self._request(request)
        except TurnNotSoon as not_soon:
            self._give_back_unfetched(leased)
            self.site.clock.next_at = max(self.site.clock.next_at, not_soon.ready_at)
            self._stopped = True
            return
        except BaseException:
            self._give_back_unfetched(leased)
            raise
        now_ms = int(time.time() * 1000)
        if isinstance(outcome, Fetched):
            self._engine.free_memory_for(outcome)
            try:
                result = await self._handle_response(leased, outcome, now_ms)
                await self._engine.record_many_links(result)
            except BaseException:
                self._engine.response_handler.clear_seen_links()  # some of them may not be recorded
                self._give_back_unfetched(leased)
                raise
        else:
            result = self._engine.response_handler.on_fetch_failed(leased, outcome, now_ms)
        if result.put_off is None:
            self.site.pages_fetched += 1
        elif leased.visit == 0:
            self._engine.unreserve_page()
        self._engine.penalise(self.site, result)
        self._engine.record_visit(self.site, result)

    async def _handle_response(self, leased: LeasedUrl, answer: Fetched, now_ms: int) -> VisitResult:
        """The result of a response. An error of our own code is recorded and does not stop other sites."""
        engine, response_handler = self._engine, self._engine.response_handler
        try:
            steps = response_handler.on_response(leased, answer, now_ms)
            return await engine.steps.run(leased.url, steps)
        except ParsersBusy:
            put_off = RetryLater(leased, now_ms + PARSERS_BUSY_MS, counts_as_try=False)
            return VisitResult(put_off=put_off, outcome="put_off")
        except ParserKilled as killed:
            return response_handler.on_killed(leased, str(killed), now_ms)
        except Exception:
            why = traceback.format_exc()[-DEFECT_CHARACTERS_MAX:]
            return response_handler.failed_visit(
                leased, FailureKind.OUR_DEFECT, why, now_ms, False, answer.status
            )

    def _forbid(self, leased: LeasedUrl) -> None:
        now_ms = int(time.time() * 1000)
        record = VisitFailed(
            url=leased.url,
            visit=leased.visit + 1,
            fetched_at_ms=now_ms,
            kind=FailureKind.ROBOTS.value,
        )
        again_ms = now_ms + int(1000 * self._engine.plan.revisit.interval_seconds_max)
        visited = VisitOutcome(leased, 0, now_ms, again_ms)
        self._engine.record_visit(self.site, VisitResult([record], visited=visited, outcome="forbidden"))

    def _give_back_unfetched(self, leased: LeasedUrl) -> None:
        if leased.visit == 0:
            self._engine.unreserve_page()
        self._give_back(leased, leased.due_ms)

    def _give_back(self, leased: LeasedUrl, due_ms: int) -> None:
        put_off = RetryLater(leased, due_ms, counts_as_try=False)
        self._engine.record_visit(self.site, VisitResult(put_off=put_off, outcome="given_back"))

    # --- requests ---------------------------------------------------------------------------------

    async def _request(self, request: FetchRequest, redirected_robots: bool = False) -> FetchOutcome:
        """One request, when it is this site's and its address's turn.

        A redirected robots.txt may be fetched from an address that another process owns, and we wait for
        its turn instead of yielding: a new worker would restart at the first hop and never finish.
        """
        engine, policy = self._engine, self._policy
        located = await engine.fetcher.locate(request.url)
        if isinstance(located, FetchFailed):
            return located
        address = self._text_of(located)
        if engine.is_foreign(address) and not redirected_robots:
            raise TurnNotSoon(
                time.time()
            )  # the name has moved: the next site worker will find it is not ours
        ready_at = await engine.politeness.acquire(self.site, address, policy)
        waited_until = time.time() + (REDIRECTED_WAIT_SECONDS_MAX if redirected_robots else 0.0)
        while ready_at is not None:
            if ready_at > waited_until or self._stopped:
                raise TurnNotSoon(ready_at)
            await asyncio.sleep(min(max(ready_at - time.time(), 0.0), 1.0))
            ready_at = await engine.politeness.acquire(self.site, address, policy)
        if self._stopped:
            engine.politeness.cancel(address)
            raise TurnNotSoon(time.time())  # it was stopped while it waited for its turn
        began = time.monotonic()
        outcome: FetchOutcome | None = None
        try:
            outcome = await engine.fetcher.fetch(request)
        finally:
            answer = outcome if isinstance(outcome, Fetched) else None
            engine.politeness.finish(
                self.site,
                address,
                policy,
                time.monotonic() - began,
                self._robots.crawl_delay_seconds,
                answer.status if answer else None,
                answer.headers.get("retry-after") if answer else None,
            )
        self.site.bytes_fetched += outcome.bytes_on_wire
        if outcome.address is not None:
            engine.record_fetch(self.site, outcome, self._text_of(outcome.address))
        return outcome

    def _text_of(self, address: IPAddress) -> str:
        """The address as text, which costs more than it seems, for the one that is used all the time."""
        if address is not self._address:
            self._address, self._address_text = address, str(address)
        return self._address_text

    # --- robots.txt -------------------------------------------------------------------------------

    async def _load_robots(self) -> bool:
        """Whether the site may be crawled now: its robots.txt is known and reachable."""
        outcome = None
        if not is_current(self.site, time.time()):
            outcome = await fetch_robots(self.site, self._request)
            self._engine.on_robots_learned(self.site)
            redirected = outcome.url != url_at(self.site.site, "/robots.txt")
            if isinstance(outcome, FetchFailed) and not outcome.worth_a_retry and not redirected:
                await self._fail_all(outcome)
                return False
        self._robots = await read_robots(self.site, self._engine.plan.settings.product)
        if self._robots is DISALLOW_ALL:
            records: list[Record] = [unreachable_robots(self.site, outcome)] if outcome else []
            failure = FailureKind.ROBOTS_UNREACHABLE.value
            self._engine.record_visit(self.site, VisitResult(records, outcome="waits", failure=failure))
            return False
        if outcome is not None:
            await self._follow_sitemaps()
        return True

    async def _fail_all(self, failed: FetchFailed) -> None:
        """Fail all URLs of a site that cannot be fetched: no such name, a refused address or port, no
        HTTP.

        One lease at a time: a large site that is gone must not delay the others.
        """
        self.site.robots_until = self.site.clock.blocked_until = 0.0
        now_ms = int(time.time() * 1000)
        while not self._stopped and self._has_more():
            leased = self._leases.popleft()
            self._engine.record_visit(
                self.site, self._engine.response_handler.on_fetch_failed(leased, failed, now_ms)
            )
            if not self._leases:
                await asyncio.sleep(0)

    async def _follow_sitemaps(self) -> None:
        """robots.txt's own sitemaps, whenever it has been read; those that are known cost a look-up."""
        if self._robots.sitemaps:
            hints = [SitemapEntry(sitemap) for sitemap in self._robots.sitemaps]
            home = url_at(self.site.site, "/")
            hinted = self._engine.response_handler.hinted_urls(home, hints, 0, int(time.time() * 1000))
            found = await self._engine.steps.run(home, hinted)
            self._engine.record_visit(self.site, VisitResult(discoveries=found, outcome="sitemaps"))
