"""A search request -> its answer: the values that travel between an index, a peer, a page and a program.

Invariant: plain data. `snippet` is HTML in which everything but `<mark>` is escaped.
"""

from __future__ import annotations

import msgspec

PER_SITE = 3  # results that a site may have where several sites answer


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question, as docs/reference/search-syntax.md describes it."""

    text: str
    limit: int = 10
    offset: int = 0
    per_site: int = PER_SITE  # results a site may have where several sites answer; 0 for all


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One result."""

    url: str
    site: str
    title: str
    snippet: str
    language: str
    crawler: str  # the vantage: the crawler that saw the page last
    fetched_at_ms: int
    published_at_s: int | None
    score: float
    alike: int = 0  # near-duplicates folded into this result
    more_from_site: int = 0  # further results of the site among those looked at
    missing: list[str] = []  # words of the question that the page does not have


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Results, best first, and what to know about them."""

    hits: list[Hit]
    total: int  # pages that match, before folding
    took_ms: float
    partial: bool = False  # a cap was reached: the question was cut, or results beyond a depth left out
    remarks: list[str] = []
    did_you_mean: str = ""
    corrected: bool = False  # the hits answer `did_you_mean`: the question as written finds nothing
    without: list[str] = []  # words that were not demanded: stop words, and words that no hit has
