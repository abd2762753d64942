"""The records that travel in a package: what a crawler has to say about the pages it takes care of.

Invariant: (url, visit) names what happened to one page at one visit, so that a reader
can detect a record that it reads twice. `visit` counts a page's fetches from 1 and never falls.
A page found unchanged has no record, so it costs no transfer.
Times are milliseconds since 1970 in UTC, by the crawler's clock.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ipmicra.model.page import Page, RobotsDirectives


class _Visit(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    url: str  # as fetched: where redirects on the same site ended
    visit: int
    fetched_at_ms: int


class PageSeen(_Visit, frozen=True, kw_only=True, array_like=True, tag="page"):
    """A new page, or one whose content hash has changed. `page.url` is `url`."""

    page: Page
    status: int = 200


class PageChanged(_Visit, frozen=True, kw_only=True, array_like=True, tag="changed"):
    """A page whose content hash has changed, as the difference from the page last sent of this URL.

    `ipmicra.carrier.page_delta` encodes and decodes it. A receiver that lacks the base
    requests the whole page.
    """

    base: bytes  # content hash of the page that it differs from
    whole: bytes  # digest of all strings of the page
    taken: list[tuple[int, int]]  # runs of strings of the base; from -1 on, of `new`
    new: list[str]
    headings: int  # how many of the strings are headings
    lines: int  # and lines of text
    published_at_s: int | None
    modified_at_s: int | None
    content_hash: bytes
    robots: RobotsDirectives
    body_bytes: int
    truncated: bool
    status: int = 200


class PageGone(_Visit, frozen=True, kw_only=True, array_like=True, tag="gone"):
    """The site says that the page no longer exists (404, 410), or it now asks to stay out (noindex)."""

    status: int


class PageMoved(_Visit, frozen=True, kw_only=True, array_like=True, tag="moved"):
    """A redirect to an address that this crawler does not take care of."""

    target: str
    status: int


class VisitFailed(_Visit, frozen=True, kw_only=True, array_like=True, tag="failed"):
    """No answer that says anything about the page: it stays as it was."""

    kind: str  # a word of `model.failures`; from a crawler of another version it may be unknown here
    detail: str = ""


class FetchMeasurement(msgspec.Struct, frozen=True, kw_only=True, array_like=True, tag="measured"):
    """How near a site is, as its fetches showed: for calibration and for the vantage."""

    site: str
    address: str
    measured_at_ms: int
    fetches: int  # of which this is the sum
    round_trip_us: int  # the least
    first_byte_ms: float  # the mean
    download_ms: float  # the mean
    body_bytes: int  # the sum, as transferred
    unchanged: int = 0  # visits among them that found a page unchanged


Record: TypeAlias = PageSeen | PageChanged | PageGone | PageMoved | VisitFailed | FetchMeasurement
