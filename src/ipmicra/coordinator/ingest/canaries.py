"""Pages whose content the operator knows -> whether a package contradicts it.

The operator submits pages that they control and configures what these contain. Invariant: no I/O. A crawler
cannot distinguish these pages from others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ipmicra.carrier.package import Package
from ipmicra.carrier.page_delta import BaseMissing, apply_delta
from ipmicra.coordinator.settings import KnownPage
from ipmicra.model.page import Page
from ipmicra.model.records import PageChanged, PageSeen


def contradiction(
    package: Package,
    known: Iterable[KnownPage],
    page_at: Callable[[str], Page | None] = lambda _: None,
) -> str | None:
    """The statement in the package that cannot be true, or None. `page_at` has the base of a delta."""
    expected = {page.url: page.words for page in known}
    for record in package.records:
        if isinstance(record, PageSeen | PageChanged) and record.url in expected:
            page = _page_in(record, page_at)
            if page is not None and expected[record.url] not in f"{page.title}\n{page.text}":
                return f"{record.url} says {expected[record.url]!r}, and was brought without it"
    return None


def _page_in(record: PageSeen | PageChanged, page_at: Callable[[str], Page | None]) -> Page | None:
    """None where the base of a delta is not here: then it does not become a page either."""
    if isinstance(record, PageSeen):
        return record.page
    try:
        return apply_delta(record, page_at(record.url)).page
    except BaseMissing:
        return None
