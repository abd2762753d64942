"""The body of one response and what is remembered of the page before -> the page, and how to send it.

Invariant: `parse` is pure, and does the same in the crawler's process and in another. It is the only caller
of `extract` for pages that are crawled.
"""

from __future__ import annotations

import msgspec

from ipmicra.carrier.page_delta import base_digest, delta_of
from ipmicra.crawler.extraction import extract
from ipmicra.crawler.extraction.directives import AGENT
from ipmicra.crawler.extraction.language import UsualLanguages
from ipmicra.model.page import Page
from ipmicra.model.records import PageChanged, PageSeen


class ParseJob(msgspec.Struct, frozen=True, kw_only=True):
    """A response to be parsed. The headers are as received."""

    body: bytes
    content_type: str
    url: str
    robots_header: str = ""
    last_modified: str = ""
    agent: str = AGENT
    visit: int = 0  # with the time and the status what names the record
    fetched_at_ms: int = 0
    status: int = 200
    base_hash: bytes = b""  # of the page that was sent before; empty: none is known
    base_digest: bytes = b""
    wants_digest: bool = False  # whether the next visit will want to tell what changed


class ParsedPage(msgspec.Struct, frozen=True, kw_only=True):
    page: Page
    delta: PageChanged | None = None  # where it is worth more than the whole page
    base_digest: bytes = b""


def parse(job: ParseJob, languages: UsualLanguages | None = None) -> ParsedPage:
    """`languages` are those of earlier pages, where they are remembered."""
    page = extract(
        job.body,
        job.content_type,
        job.url,
        robots_header=job.robots_header,
        last_modified=job.last_modified,
        languages=languages,
        agent=job.agent,
    )
    delta = None
    if job.base_digest and page.content_hash != job.base_hash:
        seen = PageSeen(
            url=job.url,
            visit=job.visit,
            fetched_at_ms=job.fetched_at_ms,
            page=page,
            status=job.status,
        )
        delta = delta_of(seen, job.base_hash, job.base_digest)
    digest = base_digest(page) if job.wants_digest else b""
    return ParsedPage(page=page, delta=delta, base_digest=digest)
