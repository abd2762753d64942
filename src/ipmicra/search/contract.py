"""What an index is: packages go in, questions get answers. Any engine that passes the tests in
tests/search/conformance can stand behind this.

Law: a changed page is found as if it had been sent whole. Integrating a package twice, or an older visit
after a newer one, changes nothing. An answer is made of plain data; `snippet` is HTML in which everything
but `<mark>` is escaped.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from ipmicra.carrier.package import Package
from ipmicra.model.page import Page


class SearchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question, as docs/reference/search-syntax.md describes it."""

    text: str
    limit: int = 10
    offset: int = 0
    per_site: int = 1  # results a site may have; 0 for all


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One result."""

    url: str
    site: str
    title: str
    snippet: str
    language: str
    crawler: str  # the vantage: who saw the page last
    fetched_at_ms: int
    published_at_s: int | None
    score: float
    alike: int = 0  # near-duplicates folded into this result
    more_from_site: int = 0  # further results of the site among those looked at


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Results, best first, and what to know about them."""

    hits: list[Hit]
    total: int  # pages that match, before folding
    took_ms: float
    partial: bool = False  # a cap was reached: the question was cut, or results beyond a depth left out
    remarks: list[str] = []
    did_you_mean: str = ""


class SearchIndex(Protocol):
    """An engine behind the search."""

    def integrate(self, package: Package, digest: str) -> int:
        """Take in a package's records; how many changed something. They are found after `commit`."""

    def purge(self, crawler: str) -> int:
        """Take out every page that the crawler brought; it is gone on return. Returns how many."""
        ...

    def wanted(self, crawler: str) -> list[str]:
        """URLs of which that crawler told a change to a page that is not here: it must send them whole."""

    def page(self, url: str) -> Page | None:
        """The page as it is known; None where it is gone or unknown."""

    def commit(self) -> None:
        """Make what was integrated findable and durable. A page that the engine refuses is left out."""

    def search(self, request: SearchRequest) -> SearchAnswer: ...

    def page_count(self) -> int:
        """Pages that can be found."""

    def close(self) -> None: ...
