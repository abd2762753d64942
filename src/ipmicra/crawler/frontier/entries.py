"""The words between the crawl engine and the frontier: plain data, no behaviour.

Times are whole milliseconds since 1970 in UTC where a name ends in `_ms`, seconds in `_s` or `_at`.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ipmicra.carrier.spool import SpoolPosition
from ipmicra.crawler.decisions.politeness import PolitenessClock
from ipmicra.crawler.decisions.revisit import ChangeHistory
from ipmicra.crawler.fetch_statistics import FetchStatistics
from ipmicra.model.urls import Site, Url, UrlKey


class DiscoveredUrl(NamedTuple):
    """A URL that was found somewhere. Known ones are forgotten at once."""

    url: Url
    depth: int  # links from a seed
    due_ms: int  # not before
    hops: int = 0  # redirects that led here
    hint_seconds: int = 0  # how often it changes, as a sitemap claims; 0: no claim
    modified_ms: int = 0  # when it changed last, as a sitemap or feed claims; 0: no claim


class LeasedUrl(msgspec.Struct, frozen=True):
    """A URL handed out to be fetched, with all that is known of the page."""

    key: UrlKey
    site_id: int
    url: Url
    depth: int
    due_ms: int
    hops: int = 0
    tries: int = 0  # fetches that failed since the last answer
    hint_seconds: int = 0
    visit: int = 0  # answers so far
    fetched_ms: int = 0
    etag: str | None = None
    last_modified: str | None = None
    content_hash: bytes = b""
    history: ChangeHistory = ChangeHistory()


class VisitOutcome(msgspec.Struct, frozen=True):
    """A leased URL that is DONE, and what is to be remembered of the page."""

    leased: LeasedUrl
    status: int
    fetched_ms: int
    revisit_ms: int | None = None  # None: never again
    etag: str | None = None
    last_modified: str | None = None
    content_hash: bytes = b""
    history: ChangeHistory = ChangeHistory()
    page_bytes: int = 0  # on the wire
    base_digest: bytes = b""  # of the page that is sent; empty: none is kept
    killed: bool = False  # its processing was ended


class RetryLater(msgspec.Struct, frozen=True):
    """A leased URL that is PENDING again: not before `due_ms`."""

    leased: LeasedUrl
    due_ms: int
    counts_as_try: bool = True


class FrontierSite(msgspec.Struct):
    """The stored state of a site between its site workers."""

    id: int
    site: Site
    clock: PolitenessClock
    pages_fetched: int = 0
    bytes_fetched: int = 0
    robots_until: float = 0.0  # robots.txt is asked again after that
    robots_status: int | None = None  # None: unreachable
    robots_body: bytes = b""


class Batch(msgspec.Struct):
    """All that one transaction changes."""

    visited: list[VisitOutcome] = []
    put_off: list[RetryLater] = []
    discoveries: list[DiscoveredUrl] = []
    sites: list[FrontierSite] = []
    closed_sites: set[int] = set()
    addresses: dict[str, PolitenessClock] = {}
    robots: list[FrontierSite] = []  # sites whose robots.txt was asked for
    measured: list[FetchStatistics] = []
    pages: int = 0  # of the visited: answers of a site
    position: SpoolPosition | None = None


class Counts(NamedTuple):
    """The frontier in figures."""

    known: int
    pending: int  # leased ones among them
    done: int  # visits that ended, with an answer or without
    pages: int  # visits that ended with an answer or a failure of the site, not of robots.txt
    sites: int
