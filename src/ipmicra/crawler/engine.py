"""Seeds, a plan and a fetcher -> pages in the spool, until nothing is left or the engine is stopped.

The engine opens a site worker for every site that may be fetched now, collects the workers' results, and
commits it in batches: records into the spool's journal first, then, in one transaction, outcomes, new
links, clocks and the journal's position. Invariant: the transaction is the truth. Records in the journal
beyond its position are dropped at the next start, and leased URLs are pending again; so a SIGKILL at any
moment loses no URL and sends no page twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial

from ipmicra.carrier.allocator import release_memory
from ipmicra.carrier.sealer import Sealer
from ipmicra.carrier.spool import Spool
from ipmicra.crawler.decisions.politeness import after_refusal
from ipmicra.crawler.decisions.revisit import price_for_budget
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.crawler.frontier import (
    Batch,
    DiscoveredUrl,
    Frontier,
    FrontierSite,
    LeasedUrl,
    VisitOutcome,
)
from ipmicra.crawler.multiprocess.partition import SitePartition
from ipmicra.crawler.page_limit import NoLimit, OwnLimit, PageLimit
from ipmicra.crawler.parsing.pool import ParserPool
from ipmicra.crawler.plan import CrawlPlan
from ipmicra.crawler.politeness_gate import PolitenessGate
from ipmicra.crawler.progress import Progress
from ipmicra.crawler.response_handler import ResponseHandler, VisitResult
from ipmicra.crawler.site_worker import SiteWorker
from ipmicra.crawler.step_runner import StepRunner
from ipmicra.errors import HostFault
from ipmicra.model.failures import FailureKind
from ipmicra.model.fetches import Fetched, Fetcher, FetchOutcome
from ipmicra.model.records import PageSeen, Record
from ipmicra.model.urls import Site, Url, site_of

LEASE_MIN, LEASE_MAX = 4, 64
REVISITS_AT_ONCE = 1_000
REVISITS_UNDER_BUDGET = 50  # number of pages by which the bytes of a day may be exceeded
MEASURE_SECONDS = 60.0
REPRICE_SECONDS = 60.0
LARGE_PAGE_BYTES = 4 << 20  # one page in ten thousand; reading it takes several times its bytes
HELD_BYTES_MAX = 8 << 20  # of text and links that wait for their transaction; usually it is half
LINKS_AT_ONCE = 2_000  # of one page in one transaction: some 20 ms
PENALTY_PAGES = 1_000  # of its site's budget, for a page that was made to harm
LINK_BYTES = 200  # of memory, about: a link, or a URL that was found


class Engine:
    """One crawl. `run` it once; `stop` it from a signal handler."""

    def __init__(
        self,
        plan: CrawlPlan,
        frontier: Frontier,
        spool: Spool,
        fetcher: Fetcher,
        on_commit: Callable[[Progress], None] = lambda _: None,
        limit: PageLimit | None = None,
        partition: SitePartition | None = None,
        parsers: ParserPool | None = None,
        was_ended: bool = False,
    ) -> None:
        """Without `parsers` all pages are parsed in this process. `was_ended`: the process before this one
        was ended because it did not answer, or ended by itself while it worked.
        """
        self.plan, self.fetcher = plan, fetcher
        self.politeness = PolitenessGate(frontier.address_clock)
        self.response_handler = ResponseHandler(plan, frontier.base_digest, frontier.kills_of)
        self.steps = StepRunner(parsers or ParserPool(None), frontier.in_progress)
        self._was_ended = was_ended
        self.progress = Progress()
        self._frontier, self._spool, self._on_commit = frontier, spool, on_commit
        self._sealer = Sealer(spool)
        self._workers: dict[int, SiteWorker] = {}
        self._closing: dict[int, SiteWorker] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._batch, self._records = Batch(), list[Record]()
        self._held_bytes = 0
        self._touched: dict[int, FrontierSite] = {}
        self._committed_at = time.monotonic()
        self._measured: dict[tuple[str, str], FetchStatistics] = {}
        self._to_report: dict[tuple[str, str], FetchStatistics] = {}
        self._reported_at = time.monotonic()
        self._reprice_at = 0.0
        self._limit = limit or self._own_limit()
        self._partition = partition
        self._wanted_whole: set[Url] = set()
        self._sites_to_close = 0  # while any is, no site worker is opened: it might be that site's
        self._is_inconsistent = (
            False  # the journal is ahead of the frontier, and will be until the next start
        )
        self._stopping = False
        self._event = asyncio.Event()

    async def run(self, seeds: list[DiscoveredUrl]) -> Progress:
        """Crawl until done or stopped; everything fetched is committed on return.

        With other processes it cannot know when it is done: call `stop` when all of them are idle.
        """
        self._frontier.repair_future_timestamps(int(time.time() * 1000))
        self._leave_out_interrupted()
        self.progress.found += self._frontier.add(seeds)
        try:
            async with asyncio.TaskGroup() as group:
                while not self._is_finished():
                    self._receive()
                    self._open_sites(group)
                    await self._wait_for_event()
                    if self._commit_is_due():
                        self._commit()
                    else:
                        self._seal_if_due(time.time())
        finally:
            if not self._is_inconsistent:
                self._commit(last=True)
            self._sealer.close()
        return self.progress

    @property
    def is_consistent(self) -> bool:
        """False after a failed transaction: the journal has records that the next start drops."""
        return not self._is_inconsistent

    async def seal(self) -> bool:
        """Seal all committed records into packages now. False: there were none."""
        if not self.is_consistent:
            return False
        sealed = await self._sealer.seal()
        self.progress.packages += sealed
        return bool(sealed)

    def stop(self) -> None:
        """Begin no further request; `run` returns when those in progress have ended."""
        self._stopping = True
        self._event.set()

    def add(self, discoveries: Iterable[DiscoveredUrl]) -> None:
        """Add URLs while running. They are durable on return."""
        self._batch.discoveries.extend(discoveries)
        self._commit()
        self._event.set()

    async def close_site(self, site: Site, grace_seconds: float = 0.0) -> None:
        """Ask a site nothing more: requests that are still in progress after the grace are aborted.

        On return all that is known of it is committed, and it stays closed until the caller awaits
        again.
        """
        self._sites_to_close += 1
        try:
            worker = self._worker_of(site)
            if worker is not None and worker.site.id not in self._closing:
                task = self._tasks[worker.site.id]
                worker.stop()
                await asyncio.wait([task], timeout=grace_seconds)
                task.cancel()
                await asyncio.wait([task])
            self._commit()
        finally:
            self._sites_to_close -= 1
            self._event.set()

    def send_whole(self, urls: Iterable[Url]) -> None:
        """Make pages that a receiver lacks due at once, and send them in full. A page that is being
        visited now is visited once more, because that visit uses the old base.
        """
        self._commit()
        wanted = list(urls)
        self._wanted_whole.update(wanted)
        self._frontier.force_full_resend(wanted, int(time.time() * 1000))
        self._event.set()

    # --- for site workers --------------------------------------------------------------------------

    def lease(self, site: FrontierSite) -> list[LeasedUrl]:
        rate = self.plan.policy_for(site.site).requests_per_second or 1.0
        limit = min(max(LEASE_MIN, int(rate)), LEASE_MAX)
        return self._frontier.lease(site, int(time.time() * 1000), limit)

    def reserve_page(self) -> bool:
        """Take one page of the crawl's limit; False when it is used up."""
        return self._limit.reserve()

    def unreserve_page(self) -> None:
        self._limit.unreserve()

    def is_foreign(self, address: str) -> bool:
        """Whether only another process may connect to the address."""
        return self._partition is not None and self._partition.is_foreign(address)

    def release_if_foreign(self, site: FrontierSite, address: str) -> bool:
        """Whether the site is another process's; if so, it goes there when its site worker is closed."""
        return self._partition is not None and self._partition.release_if_foreign(site, address)

    def free_memory_for(self, fetched: Fetched) -> None:
        """Before a large page is read, drop caches and return freed memory to the system."""
        if len(fetched.body) >= LARGE_PAGE_BYTES:
            self.progress.packages += self._sealer.wait()
            self._frontier.release_memory()
            release_memory()

    def record_visit(self, site: FrontierSite, result: VisitResult) -> None:
        """Add the result of one visit to the next transaction."""
        batch = self._batch
        self._touched[site.id] = site
        self._records.extend(result.records)
        batch.discoveries.extend(result.discoveries)
        if result.visited is not None:
            batch.visited.append(result.visited)
            batch.pages += result.outcome != "forbidden"
        if result.put_off is not None:
            batch.put_off.append(result.put_off)
        self.progress.count(result.outcome, result.failure)
        if result.failure:
            self.progress.last_failure = f"{site.site}: {result.why()}"
        self._held_bytes += _held_bytes(result)
        if self._batch_is_full():
            self._event.set()

    async def record_many_links(self, result: VisitResult) -> None:
        """Commit the links of a page that has very many, but for the last of them, before the page itself.

        Should this process end in between, the page is visited again.
        """
        while len(result.discoveries) > LINKS_AT_ONCE:
            some, result.discoveries = (
                result.discoveries[:LINKS_AT_ONCE],
                result.discoveries[LINKS_AT_ONCE:],
            )
            self.add(some)
            await asyncio.sleep(0)

    def penalise(self, site: FrontierSite, result: VisitResult) -> None:
        """What was made to harm costs the site's budget; and what took long, time."""
        if result.failure in (FailureKind.PROCESSING_KILLED, FailureKind.INFLATE_BOMB):
            site.pages_fetched += PENALTY_PAGES
        if result.failure == FailureKind.PROCESSING_KILLED:
            site.clock = after_refusal(site.clock, time.time(), None)

    def on_robots_learned(self, site: FrontierSite) -> None:
        self._touched[site.id] = site
        self._batch.robots.append(site)

    def record_fetch(self, site: FrontierSite, outcome: FetchOutcome, address: str) -> None:
        self._touched[site.id] = site
        self.progress.bytes_on_wire += outcome.bytes_on_wire
        seen = self._measured.get((site.site, address))
        if seen is None:
            seen = self._measured[site.site, address] = FetchStatistics(site.site, address)
        seen.add(outcome)

    # --- the loop ---------------------------------------------------------------------------------

    def _leave_out_interrupted(self) -> None:
        """The page that an earlier process ended with is not tried again, where it is to blame."""
        in_progress = self._frontier.in_progress
        if in_progress.found is None:
            return
        leased = self._frontier.on_interrupted(in_progress.found, self._was_ended)
        site = None if leased is None else self._frontier.site(site_of(leased.url))
        if leased is not None and site is not None:
            why = "the crawler's process ended while it was read"
            result = self.response_handler.on_killed(leased, why, int(time.time() * 1000))
            self.penalise(site, result)
            self.record_visit(site, result)
            self._commit()
        in_progress.forget()

    def mailbox_items_moved(self) -> int:
        """The number of mailbox items sent to and received from other processes so far."""
        return 0 if self._partition is None else self._partition.mailbox.moved

    def _is_finished(self) -> bool:
        if self._stopping or (self._limit.is_used_up() and not self.plan.watch):
            for worker in self._workers.values():
                worker.stop()
            return not self._workers
        return self._partition is None and self.is_idle()

    def is_idle(self) -> bool:
        """Whether nothing is in progress, and nothing will be in reasonable time."""
        if self._workers or self._has_uncommitted() or self.plan.watch:
            return False
        ready_ms = self._frontier.next_ready_ms()
        return ready_ms is None or ready_ms / 1000 - time.time() > self.plan.settings.patience_seconds

    def _open_sites(self, group: asyncio.TaskGroup) -> None:
        room = self.plan.settings.sites_open_max - len(self._workers)
        if (
            room <= 0
            or self._stopping
            or self._sites_to_close
            or (self._limit.is_used_up() and not self.plan.watch)
        ):
            return
        now_ms = int(time.time() * 1000)
        if self.plan.watch:
            self._promote_revisits(now_ms)
        for site in self._frontier.sites_to_open(now_ms, room):
            worker = self._workers[site.id] = SiteWorker(site, self)
            task = self._tasks[site.id] = group.create_task(worker.run())
            task.add_done_callback(partial(self._on_worker_ended, worker))

    def _on_worker_ended(self, worker: SiteWorker, _: asyncio.Task[None]) -> None:
        """Handle the end of a worker, for any reason, even before it began."""
        self._closing[worker.site.id] = worker
        if len(self._closing) == len(self._workers):
            self._event.set()

    def _worker_of(self, site: Site) -> SiteWorker | None:
        return next((worker for worker in self._workers.values() if worker.site.site == site), None)

    async def _wait_for_event(self) -> None:
        """A full batch, an idle crawler, a site that becomes ready, or the time to commit."""
        try:
            async with asyncio.timeout(self._seconds_to_wait()):
                await self._event.wait()
        except TimeoutError:
            pass
        self._event.clear()

    def _seconds_to_wait(self) -> float:
        longest = self.plan.settings.commit_seconds
        ready_ms = self._frontier.next_ready_ms()
        if ready_ms is None or len(self._workers) >= self.plan.settings.sites_open_max:
            return longest
        return min(max(ready_ms / 1000 - time.time(), 0.001), longest)

    def _has_uncommitted(self) -> bool:
        batch = self._batch
        return bool(batch.visited or batch.put_off or batch.discoveries or batch.robots or self._closing)

    def _batch_is_full(self) -> bool:
        return (
            len(self._batch.visited) >= self.plan.settings.commit_pages
            or self._held_bytes >= HELD_BYTES_MAX
        )

    def _commit_is_due(self) -> bool:
        if not self._has_uncommitted():
            return False
        return (
            self._batch_is_full()
            or time.monotonic() - self._committed_at >= self.plan.settings.commit_seconds
            or len(self._closing) == len(self._workers)
        )

    def _commit(self, last: bool = False) -> None:
        if self._is_inconsistent:
            raise HostFault("crawling cannot continue: a transaction failed before; start again")
        now, self._is_inconsistent = time.time(), True
        batch, records = self._batch, self._records
        self._batch, self._records, self._held_bytes = Batch(), [], 0
        batch.measured = self._drain_statistics(records, now, last)
        batch.position = self._spool.append(records, now)
        batch.sites = list(self._touched.values())
        self._touched.clear()
        batch.addresses = self.politeness.drain_changed_clocks()
        batch.closed_sites = set(self._closing)
        self.progress.found += self._frontier.commit(batch, self._workers)
        self._is_inconsistent = False
        if self._wanted_whole:
            self._want_whole_again(batch.visited)
        if self._partition is not None:
            self._partition.flush(self._closing)
        for site_id in self._closing:
            del self._workers[site_id], self._tasks[site_id]
        self._closing.clear()
        for worker in self._workers.values():
            worker.top_up()
        del batch, records
        self._seal_if_due(now, last)
        self.progress.sites_open = len(self._workers)
        ready_ms = None if self._workers else self._frontier.next_ready_ms()
        self.progress.waits_until = (ready_ms or 0) / 1000
        self._committed_at = time.monotonic()
        self._on_commit(self.progress)

    def _want_whole_again(self, visited: Iterable[VisitOutcome]) -> None:
        """Request full versions again of pages that were leased before the request."""
        for leased in [done.leased for done in visited if done.leased.url in self._wanted_whole]:
            if leased.content_hash:
                self._frontier.force_full_resend([leased.url], int(time.time() * 1000))
            else:
                self._wanted_whole.discard(leased.url)

    def _receive(self) -> None:
        """Receive the URLs that other processes found for us. A site that is open here waits until it is
        closed.
        """
        if self._partition is None:
            return
        for path, item in self._partition.mailbox.waiting():
            if item.site is None:
                self.add(item.links)
            elif self._worker_of(item.site) is None:
                self._frontier.import_site(item.chunks)
            else:
                continue
            self._partition.mailbox.remove(path)

    def _seal_if_due(self, now: float, last: bool = False) -> None:
        """Seal by size or age; at the end the last pages are sealed too."""
        self.progress.packages += self._sealer.finish() if last else self._sealer.seal_if_due(now)

    def _drain_statistics(self, records: list[Record], now: float, last: bool) -> list[FetchStatistics]:
        """The statistics since the last commit, and, once per minute, records of them."""
        measured = list(self._measured.values())
        self._measured.clear()
        for seen in measured:
            self._to_report.setdefault(
                (seen.site, seen.address), FetchStatistics(seen.site, seen.address)
            ).merge(seen)
        if last or time.monotonic() - self._reported_at >= MEASURE_SECONDS:
            records.extend(seen.record(int(now * 1000)) for seen in self._to_report.values())
            self._to_report.clear()
            self._reported_at = time.monotonic()
        return measured

    def _own_limit(self) -> PageLimit:
        if self.plan.pages_max is None:
            return NoLimit()
        return OwnLimit(self.plan.pages_max - self._frontier.counts().pages)

    def _promote_revisits(self, now_ms: int) -> None:
        """Queue what is due again, as far as today's bytes allow."""
        per_day = self.plan.settings.revisit_bytes_per_day
        if per_day:
            if self._frontier.revisit_bytes_today(now_ms) >= per_day:
                return
            self._reprice(per_day)
        limit = REVISITS_UNDER_BUDGET if per_day else REVISITS_AT_ONCE
        self._frontier.promote_revisits(now_ms, limit, self._workers)

    def _reprice(self, bytes_per_day: int) -> None:
        if time.monotonic() >= self._reprice_at:
            watched = self._frontier.watched(self.plan.revisit.interval_seconds_first)
            self.response_handler.price = price_for_budget(watched, bytes_per_day, self.plan.revisit)
            self._reprice_at = time.monotonic() + REPRICE_SECONDS


def _held_bytes(result: VisitResult) -> int:
    """The approximate memory of a visit result, for the parts that differ from page to page."""
    pages = [record.page for record in result.records if isinstance(record, PageSeen)]
    links = len(result.discoveries) + sum(len(page.links) for page in pages)
    return LINK_BYTES * links + sum(len(page.text) for page in pages)
