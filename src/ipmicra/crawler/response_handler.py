"""One response of a site -> records to send, what the frontier stores of the page, and the URLs found.

`on_response` is a generator: it yields a job and is sent the parsed page, and it yields None wherever it has
worked for some milliseconds, so that others may run in between. Invariant: no network, no clock; (url, visit)
identifies every record. An unchanged page has no record. Robots directives of the page are obeyed: noindex
pages are not stored, nofollow links are not followed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, TypedDict

import msgspec

from ipmicra.crawler.decisions.revisit import ChangeHistory, killed_seconds, revisit_seconds
from ipmicra.crawler.decisions.sitemaps import (
    ListingBomb,
    SitemapEntry,
    feeds_in,
    listing_steps,
)
from ipmicra.crawler.extraction import Page
from ipmicra.crawler.extraction.directives import directives
from ipmicra.crawler.fetching.redirects import redirect_target
from ipmicra.crawler.frontier.entries import DiscoveredUrl, LeasedUrl, RetryLater, VisitOutcome
from ipmicra.crawler.frontier.seen_cache import SeenCache
from ipmicra.crawler.parsing.jobs import ParsedPage, ParseJob
from ipmicra.crawler.plan import CrawlPlan
from ipmicra.model.failures import FailureKind, Kind, status_kind
from ipmicra.model.fetches import Fetched, FetchFailed
from ipmicra.model.fingerprints import CONTENT_HASH_BYTES
from ipmicra.model.page import RobotsDirectives
from ipmicra.model.records import PageGone, PageMoved, PageSeen, Record, VisitFailed
from ipmicra.model.urls import Url

GONE = frozenset({404, 410})
UNCHANGED = 304
NO_WHOLE_PAGE = frozenset({204, 205, 206})  # no content, or a part that was not requested
RETRIED_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
FULL_PAGE_EVERY = 16  # visits after which a page is sent in full again, in case a receiver lost it
YEAR_MS = 31_556_952_000
LINKS_PER_STEP = 500  # some 3 ms


@dataclass(slots=True)
class VisitResult:
    """The result of one visit."""

    records: list[Record] = field(default_factory=list)
    discoveries: list[DiscoveredUrl] = field(default_factory=list)
    visited: VisitOutcome | None = None
    put_off: RetryLater | None = None
    outcome: str = "seen"  # "seen", "unchanged", "gone", "moved", "failed", "put_off", "listing"
    failure: str = ""

    def why(self) -> str:
        """The error, in words for people."""
        details = [record.detail for record in self.records if isinstance(record, VisitFailed)]
        return ": ".join(word for word in (self.failure, *details) if word)


VisitSteps: TypeAlias = Generator[ParseJob | None, ParsedPage, VisitResult]


class ResponseHandler:
    """Turns responses into visit results by one crawl's plan."""

    def __init__(
        self,
        plan: CrawlPlan,
        base_digest_of: Callable[[LeasedUrl], bytes] = lambda _: b"",
        kills_of: Callable[[LeasedUrl], int] = lambda _: 0,
    ) -> None:
        """`base_digest_of` is of the page as it was last sent, empty where none is kept; `kills_of` is how
        often its processing was ended.
        """
        self._plan, self._base_digest_of, self._kills_of = plan, base_digest_of, kills_of
        self._recent = SeenCache(plan.settings.recent_urls_max)
        self._agent = plan.settings.product.lower()
        self.price = 0.0  # of a byte of revisits; 0: no budget

    def clear_seen_links(self) -> None:
        """Forget seen links, so that those out of scope or dropped by the frontier may be followed when
        found again.
        """
        self._recent = SeenCache(self._plan.settings.recent_urls_max)

    def on_response(self, leased: LeasedUrl, fetched: Fetched, now_ms: int) -> VisitSteps:
        """The visit result of a response with any status."""
        status = fetched.status
        if status == UNCHANGED and leased.visit:
            return self._unchanged(leased, fetched, now_ms)
        if status in GONE:
            gone = PageGone(**_names(leased, now_ms), status=status)
            return self._visit_done(leased, fetched, now_ms, "gone", [gone])
        target = redirect_target(fetched)
        if target is not None:
            return self._moved(leased, fetched, now_ms, target)
        if not 200 <= status < 300 or status in NO_WHOLE_PAGE:
            may_pass = status in RETRIED_STATUSES
            return self.failed_visit(leased, status_kind(status), "", now_ms, may_pass, status)
        try:
            hints = yield from listing_steps(fetched.body, fetched.bytes_on_wire or None)
        except ListingBomb as bomb:
            kind, why = FailureKind.INFLATE_BOMB, str(bomb)
            return self.failed_visit(leased, kind, why, now_ms, False, status)
        if hints is not None:
            return (yield from self._listing(leased, fetched, now_ms, hints))
        if fetched.body_skipped:
            kind = FailureKind.NOT_A_PAGE
            return self.failed_visit(leased, kind, fetched.media_type, now_ms, False, status)
        return (yield from self._page(leased, fetched, now_ms))

    def on_fetch_failed(self, leased: LeasedUrl, failed: FetchFailed, now_ms: int) -> VisitResult:
        return self.failed_visit(leased, failed.kind, failed.detail, now_ms, failed.worth_a_retry)

    def failed_visit(
        self, leased: LeasedUrl, kind: Kind, detail: str, now_ms: int, may_pass: bool, status: int = 0
    ) -> VisitResult:
        """Put off while retries are left, else recorded; the page stays as it was."""
        settings = self._plan.settings
        if may_pass and leased.tries < settings.retries_max:
            due_ms = now_ms + int(1000 * settings.retry_seconds * 2**leased.tries)
            return VisitResult(put_off=RetryLater(leased, due_ms), outcome="put_off", failure=str(kind))
        record = VisitFailed(**_names(leased, now_ms), kind=str(kind), detail=detail[:500])
        visited = VisitOutcome(
            leased,
            status,
            now_ms,
            now_ms + int(1000 * self._plan.revisit.interval_seconds_max),
            leased.etag,
            leased.last_modified,
            leased.content_hash,
            leased.history,
        )
        return VisitResult([record], visited=visited, outcome="failed", failure=str(kind))

    def on_killed(self, leased: LeasedUrl, why: str, now_ms: int) -> VisitResult:
        """The visit of a page whose processing was ended. It is left alone for longer each time."""
        result = self.failed_visit(leased, FailureKind.PROCESSING_KILLED, why, now_ms, may_pass=False)
        assert result.visited is not None
        usual_seconds = self._revisit_ms(leased, leased.history, 0) / 1000
        seconds = killed_seconds(usual_seconds, self._kills_of(leased), self._plan.revisit)
        result.visited = msgspec.structs.replace(
            result.visited, revisit_ms=now_ms + int(1000 * seconds), killed=True
        )
        return result

    def hinted_urls(
        self, page: Url, hints: Iterable[SitemapEntry], depth: int, now_ms: int
    ) -> Generator[None, ParsedPage, list[DiscoveredUrl]]:
        """URLs that robots.txt, a sitemap or a feed names."""
        found = []
        for position, hint in enumerate(hints, 1):
            if position % LINKS_PER_STEP == 0:
                yield
            url = self._plan.normaliser.joined(page, hint.reference)
            if url is not None and self._is_wanted(url, depth, now_ms):
                modified_ms = 1000 * (hint.modified_s or 0)
                modified_ms = (
                    modified_ms if modified_ms <= now_ms else 0
                )  # nothing changed in the future
                found.append(DiscoveredUrl(url, depth, now_ms, 0, hint.change_seconds, modified_ms))
        return found

    # --- one way out each -------------------------------------------------------------------------

    def _page(self, leased: LeasedUrl, fetched: Fetched, now_ms: int) -> VisitSteps:
        parsed = yield self._job(leased, fetched, now_ms)
        page, remembered = parsed.page, _base_digest(parsed.page)
        if leased.content_hash == remembered:
            return self._unchanged(leased, fetched, now_ms)
        found: list[DiscoveredUrl] = []
        if not page.robots.nofollow:
            found = yield from self._links(page, leased.depth + 1, now_ms)
            feeds = feeds_in(fetched.body)
            found += yield from self.hinted_urls(leased.url, feeds, leased.depth + 1, now_ms)
        record: Record
        if page.robots.noindex:
            record = PageGone(**_names(leased, now_ms), status=fetched.status)
        else:
            seen = PageSeen(**_names(leased, now_ms), page=page, status=fetched.status)
            record = parsed.delta or seen
        result = self._visit_done(leased, fetched, now_ms, "seen", [record], remembered)
        assert result.visited is not None
        if page.robots.noindex:  # asked for whole next time: a 304 would not say that it may be kept now
            result.visited = msgspec.structs.replace(result.visited, etag=None, last_modified=None)
        elif self._plan.watch:
            result.visited = msgspec.structs.replace(result.visited, base_digest=parsed.base_digest)
        result.discoveries = found
        return result

    def _job(self, leased: LeasedUrl, fetched: Fetched, now_ms: int) -> ParseJob:
        """With what is remembered of the page before, of which now and then nothing is used."""
        headers, base = fetched.headers, leased.content_hash[:CONTENT_HASH_BYTES]
        is_whole = not base or (leased.visit + 1) % FULL_PAGE_EVERY == 0
        return ParseJob(
            body=fetched.body,
            content_type=headers.get("content-type") or "",
            **_names(leased, now_ms),
            robots_header=_robots_header(fetched),
            last_modified=headers.get("last-modified") or "",
            agent=self._agent,
            status=fetched.status,
            base_hash=base,
            base_digest=b"" if is_whole else self._base_digest_of(leased),
            wants_digest=self._plan.watch,
        )

    def _links(
        self, page: Page, depth: int, now_ms: int
    ) -> Generator[None, ParsedPage, list[DiscoveredUrl]]:
        if depth > self._plan.budget.depth:
            return []
        followed = [link.url for link in page.links if "nofollow" not in link.rel]
        found = []
        for at in range(0, len(followed), LINKS_PER_STEP):
            if at:
                yield
            for text in self._recent.unseen(followed[at : at + LINKS_PER_STEP]):
                url = self._plan.normaliser.link(text)
                if url is not None and self._is_wanted(url, depth, now_ms):
                    found.append(DiscoveredUrl(url, depth, now_ms))
        return found

    def _is_wanted(self, url: Url, depth: int, now_ms: int) -> bool:
        return self._plan.rejection_reason(url, depth, 1970 + now_ms // YEAR_MS) is None

    def _moved(self, leased: LeasedUrl, fetched: Fetched, now_ms: int, target: str) -> VisitResult:
        """A redirect is one more URL to visit: checked for scope, robots and address like any other."""
        url = self._plan.normaliser.url(target)
        if url is None or leased.hops >= self._plan.redirects_max:
            too_many = FailureKind.REDIRECTS_TOO_MANY
            kind = FailureKind.BAD_REDIRECT if url is None else too_many
            return self.failed_visit(leased, kind, target, now_ms, False, fetched.status)
        moved = PageMoved(**_names(leased, now_ms), target=url, status=fetched.status)
        result = self._visit_done(leased, fetched, now_ms, "moved", [moved])
        if url != leased.url and self._is_wanted(url, leased.depth, now_ms):
            result.discoveries = [DiscoveredUrl(url, leased.depth, now_ms, leased.hops + 1)]
        return result

    def _listing(
        self, leased: LeasedUrl, fetched: Fetched, now_ms: int, hints: list[SitemapEntry]
    ) -> VisitSteps:
        digest = hashlib.blake2b(fetched.body, digest_size=16).digest()
        result = self._visit_done(leased, fetched, now_ms, "listing", [], digest)
        hinted = self.hinted_urls(leased.url, hints, leased.depth + 1, now_ms)
        result.discoveries = yield from hinted
        return result

    def _unchanged(self, leased: LeasedUrl, fetched: Fetched, now_ms: int) -> VisitResult:
        result = self._visit_done(leased, fetched, now_ms, "unchanged", [], leased.content_hash)
        if result.visited is not None and _asks_more(leased, fetched, self._agent):
            # Its content is as it was, what it asks of an index is not: it is looked at whole, now.
            result.visited = msgspec.structs.replace(
                result.visited, etag=None, last_modified=None, content_hash=b"", revisit_ms=now_ms
            )
        return result

    def _visit_done(
        self,
        leased: LeasedUrl,
        fetched: Fetched,
        now_ms: int,
        outcome: str,
        records: list[Record],
        content_hash: bytes = b"",
    ) -> VisitResult:
        history = leased.history
        if leased.visit:
            interval_seconds = (now_ms - leased.fetched_ms) / 1000
            history = history.after(content_hash != leased.content_hash, interval_seconds)
        visited = VisitOutcome(
            leased,
            fetched.status,
            now_ms,
            now_ms + self._revisit_ms(leased, history, fetched.bytes_on_wire),
            fetched.headers.get("etag") or (leased.etag if outcome == "unchanged" else None),
            fetched.headers.get("last-modified")
            or (leased.last_modified if outcome == "unchanged" else None),
            content_hash,
            history,
            fetched.bytes_on_wire,
        )
        return VisitResult(records, visited=visited, outcome=outcome)

    def _revisit_ms(self, leased: LeasedUrl, history: ChangeHistory, page_bytes: int) -> int:
        hint = float(leased.hint_seconds) or None
        return int(1000 * revisit_seconds(history, self._plan.revisit, self.price, page_bytes, hint))


def _robots_header(fetched: Fetched) -> str:
    return "\n".join(fetched.headers.all("x-robots-tag"))


def _bits(robots: RobotsDirectives) -> int:
    return sum(asked << at for at, asked in enumerate(robots))


def _base_digest(page: Page) -> bytes:
    """A page's hash, and behind it what the page asks of an index; most ask nothing."""
    bits = _bits(page.robots)
    return page.content_hash + bytes([bits]) if bits else page.content_hash


def _asks_more(leased: LeasedUrl, fetched: Fetched, agent: str) -> bool:
    """Whether an answer's header asks for something that the page did not ask for when it was last seen."""
    header = _robots_header(fetched)
    before = sum(leased.content_hash[CONTENT_HASH_BYTES:])
    return bool(header and _bits(directives((), header, agent)) & ~before)


class _Names(TypedDict):
    url: str
    visit: int
    fetched_at_ms: int


def _names(leased: LeasedUrl, now_ms: int) -> _Names:
    """The identity of this visit."""
    return {"url": leased.url, "visit": leased.visit + 1, "fetched_at_ms": now_ms}
